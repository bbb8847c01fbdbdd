// Cuts a list of files (an @LIST, or a variable) into its lines, as editors of all systems
// write them.
//
// As rsync reads --files-from: a line ends at LF or CR LF. A byte order mark is not part of the
// first line, nor are blanks at a line's ends part of it; but a name that has them is found by
// `whole`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace stage {

struct ListLine {
    std::size_t number = 0;  ///< From 1.
    std::string_view text;   ///< Without blanks at its ends, never empty.
    std::string_view whole;  ///< With them.
};

/// Those with something in them. They look into `text`.
[[nodiscard]] std::vector<ListLine> lines_in(std::string_view text);

}  // namespace stage
