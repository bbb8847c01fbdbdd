// Encodes and decodes texts and enumerators in control messages.
//
// It complements the numbers of base/codec.h: a text of bounded length without a NUL, a
// sentence that is truncated rather than refused, an enumerator by its number.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <type_traits>

namespace stage {

inline void put_text(ByteWriter& writer, std::string_view text, std::size_t limit) {
    invariant(text.size() <= limit, "a text fits its field");
    writer.text(text);
}

/// Truncates a text that is only for people to read.
inline void put_cut(ByteWriter& writer, std::string_view text, std::size_t limit) {
    writer.text(shortened(text.substr(0, text.find('\0')), limit));
}

template <class Enum>
void put_enum(ByteWriter& writer, Enum value) {
    static_assert(std::is_same_v<std::underlying_type_t<Enum>, std::uint8_t>);
    writer.u8(static_cast<std::uint8_t>(value));
}

/// Reads a text that may be used as a C string: no NUL inside.
inline std::string take_text(ByteReader& reader, std::size_t limit) {
    std::string text = reader.text(limit);
    if (text.find('\0') != std::string::npos) {
        reader.fail();
    }
    return text;
}

/// `last`: the enumerator with the highest number; a higher number is an error.
template <class Enum>
Enum take_enum(ByteReader& reader, Enum last) {
    const std::uint8_t number = reader.u8();
    if (number > static_cast<std::uint8_t>(last)) {
        reader.fail();
        return last;
    }
    return static_cast<Enum>(number);
}

}  // namespace stage
