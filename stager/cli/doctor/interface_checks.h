// Can the broadcast use the network interfaces that the site names?
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/config/config.h"

namespace stage {

/// What this node has under a name.
struct InterfaceSeen {
    std::string name;
    bool is_up = true;
    bool has_link = true;
    bool can_multicast = true;
    bool has_address = true;     ///< Of IPv4.
    std::uint32_t subnet = 0;    ///< Of the first one.
    bool filters_paths = false;  ///< rp_filter=1: takes only what its own route leads back to.
};

[[nodiscard]] std::vector<InterfaceSeen> interfaces_seen();

/// Each that is named, and of rails which will be used together. Requires an entry.
[[nodiscard]] std::vector<Finding> judge_interfaces(const std::vector<RailNames>& entries,
                                                    const std::vector<InterfaceSeen>& seen);

/// The interfaces that the broadcast may use: there, up, with an address, able to multicast.
[[nodiscard]] std::vector<Finding> check_interfaces(const Config& config);

}  // namespace stage
