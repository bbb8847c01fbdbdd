#include "transport/base/hex.h"

namespace stage {

std::string to_hex(Bytes bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) {
        append_hex(text, std::to_integer<unsigned char>(byte));
    }
    return text;
}

bool from_hex(std::string_view text, MutableBytes bytes) {
    if (text.size() != 2 * bytes.size()) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = kHexDigits.find(text[i]);
        if (digit == std::string_view::npos) {
            return false;
        }
        const auto high = std::to_integer<unsigned>(bytes[i / 2]) << 4U;
        bytes[i / 2] = static_cast<std::byte>((i % 2 == 0 ? 0U : high) | digit);
    }
    return true;
}

}  // namespace stage
