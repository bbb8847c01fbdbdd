#include "stager/spec/list_lines.h"

#include <algorithm>

namespace stage {

std::vector<ListLine> lines_in(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    constexpr std::string_view kBlanks = " \t\r\v\f";
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    std::vector<ListLine> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), whole.size() + 1));
        const std::size_t begin = whole.find_first_not_of(kBlanks);
        if (begin != std::string_view::npos) {
            const std::size_t end = whole.find_last_not_of(kBlanks) + 1;
            lines.push_back(
                {.number = number, .text = whole.substr(begin, end - begin), .whole = whole});
        }
    }
    return lines;
}

}  // namespace stage
