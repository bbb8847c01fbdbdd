// Splits a list of files (an @LIST, or a variable) into its lines.
//
// As in rsync's --files-from a line ends at LF or CR LF. A byte order mark is not part of the
// first line, nor are blanks at a line's ends part of it; but a name with such blanks is found
// by `whole`.
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

/// Returns the lines that are not empty, as views into `text`.
[[nodiscard]] std::vector<ListLine> lines_in(std::string_view text);

}  // namespace stage
