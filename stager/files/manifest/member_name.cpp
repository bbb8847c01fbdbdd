#include "stager/files/manifest/member_name.h"

#include "stager/files/manifest/tree_index.h"

#include <algorithm>

namespace stage {

Result<std::vector<std::string>> member_parts(std::string_view name) {
    const auto refuse = [](std::string_view why) {
        return Error{Blame::user, std::string{why}}.remedy("make the archive without it");
    };
    if (name.starts_with('/')) {
        return refuse("has an absolute name");
    }
    std::vector<std::string> parts;
    while (!name.empty()) {
        const std::string_view part = name.substr(0, name.find('/'));
        name.remove_prefix(std::min(name.size(), part.size() + 1));
        if (part.empty() || part == ".") {
            continue;
        }
        if (part == "..") {
            return refuse("goes up by '..'");
        }
        if (part.size() > kMaxFileNameBytes || part.find('\0') != std::string_view::npos) {
            return refuse("has a name that no file can have");
        }
        if (parts.size() == kMaxTreeDepth) {
            return refuse("lies too deep");
        }
        parts.emplace_back(part);
    }
    return parts;
}

}  // namespace stage
