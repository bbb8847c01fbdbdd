#include "transport/base/checksum.h"

// The library alone keeps to SSE2; its dispatcher takes the widest vectors this machine has.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <algorithm>

namespace stage {

Digest128 xxh3_128(Bytes bytes) {
    XXH128_canonical_t canonical{};
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
    Digest128 digest{};
    std::ranges::copy(std::as_bytes(std::span{canonical.digest}), digest.begin());
    return digest;
}

}  // namespace stage
