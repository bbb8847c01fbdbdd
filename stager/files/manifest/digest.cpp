#include "stager/files/manifest/digest.h"

#include "transport/base/hex.h"

namespace stage {

std::string digest_of(std::span<const Digest128> leaves) {
    return to_hex(xxh3_128(std::as_bytes(leaves)));
}

}  // namespace stage
