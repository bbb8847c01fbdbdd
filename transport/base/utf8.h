// Decides which bytes of a text may be shown on a terminal as they are.
#pragma once

#include <cstddef>
#include <string_view>

namespace stage {

/// How many bytes the character at the beginning of `text` has: well-formed UTF-8, and no
/// control character. 0 for all else: C0 and DEL, C1 (U+0080 to U+009F, which a terminal obeys
/// like escape sequences), a byte that belongs to no such character, an empty text.
[[nodiscard]] std::size_t shown_length(std::string_view text);

}  // namespace stage
