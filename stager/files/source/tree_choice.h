// States which members of a directory are staged, and as what.
#pragma once

#include <string>
#include <vector>

namespace stage {

struct TreeChoice {
    bool is_ownerless = false;   ///< All members become root's own (attributes.h).
    bool follows_links = false;  ///< A link out of the tree becomes what it leads to.
    bool skips_devices = false;  ///< Devices and pipes are left out; else they are refused.
    std::vector<std::string> excludes{};  ///< Patterns (spec/exclusion.h).
};

}  // namespace stage
