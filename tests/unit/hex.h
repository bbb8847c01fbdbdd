// Writes bytes as hexadecimal text in tests.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stage::test {

inline std::string hex(Bytes bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += kDigits[value >> 4U];
        text += kDigits[value & 15U];
    }
    return text;
}

/// Spaces are skipped. Requires pairs of lower-case digits.
inline std::vector<std::byte> unhex(std::string_view text) {
    const auto digit = [](char c) {
        return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    };
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        while (text[i] == ' ') {
            ++i;
        }
        bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4U | digit(text[i + 1])));
    }
    return bytes;
}

}  // namespace stage::test
