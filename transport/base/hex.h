// Writes bytes in hexadecimal: lower case, two digits for each byte.
#pragma once

#include "transport/base/units.h"

#include <string>
#include <string_view>

namespace stage {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Both digits of one byte.
inline void append_hex(std::string& text, unsigned char byte) {
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
}

[[nodiscard]] std::string to_hex(Bytes bytes);
/// Converts back, if all of `text` is that of `bytes.size()` bytes.
[[nodiscard]] bool from_hex(std::string_view text, MutableBytes bytes);

}  // namespace stage
