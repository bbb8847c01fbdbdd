#include "stager/files/source/outward_links.h"

#include <algorithm>

namespace stage {

bool leads_out(std::string_view text, std::size_t depth) {
    if (text.starts_with('/')) {
        return true;
    }
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find('/'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        if (part == ".." && depth == 0) {
            return true;
        }
        if (part == "..") {
            --depth;
        } else if (!part.empty() && part != ".") {
            ++depth;
        }
    }
    return false;
}

}  // namespace stage
