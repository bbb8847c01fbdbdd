// Makes texts for people: lists, and which bytes a terminal may be shown as they are.
#pragma once

#include "transport/base/units.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace stage {

/// How many bytes the character at the beginning of `text` has: well-formed UTF-8, and no
/// control character. 0 for all else: C0 and DEL, C1 (U+0080 to U+009F, which a terminal obeys
/// like escape sequences), a byte that belongs to no such character, an empty text.
[[nodiscard]] std::size_t shown_length(std::string_view text);

[[nodiscard]] inline std::string_view as_text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The items with `separator` between them; `text_of` gives an item's text.
template <class Items, class TextOf = std::identity>
[[nodiscard]] std::string joined(const Items& items,
                                 std::string_view separator,
                                 TextOf text_of = {}) {
    std::string all;
    for (bool is_first = true; const auto& item : items) {
        if (!is_first) {
            all += separator;
        }
        all += std::invoke(text_of, item);
        is_first = false;
    }
    return all;
}

}  // namespace stage
