#include "stager/files/digest.h"

#include <string_view>

namespace stage {

std::string digest_of(std::span<const Digest128> leaves) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : xxh3_128(std::as_bytes(leaves))) {
        text += kHex[std::to_integer<unsigned>(byte) >> 4U];
        text += kHex[std::to_integer<unsigned>(byte) & 15U];
    }
    return text;
}

}  // namespace stage
