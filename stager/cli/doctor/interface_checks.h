// Checks the network interfaces that the site names for the broadcast.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

namespace stage {

/// The state of one of this node's interfaces.
struct InterfaceSeen {
    std::string name;
    bool is_up = true;
    bool has_link = true;
    bool can_multicast = true;
    bool can_broadcast = true;
    bool has_address = true;     ///< An IPv4 address.
    std::uint32_t subnet = 0;    ///< The subnet of the first address.
    bool filters_paths = false;  ///< rp_filter=1 (strict).
};

[[nodiscard]] std::vector<InterfaceSeen> interfaces_seen();

/// Checks each named interface, and which rails will be used together. Requires an entry.
/// `broadcasts`: they need not multicast.
[[nodiscard]] std::vector<Finding> judge_interfaces(const std::vector<RailNames>& entries,
                                                    const std::vector<InterfaceSeen>& seen,
                                                    bool broadcasts = false);

/// Whether the rate is set that all hosts of the LAN must bear. Requires config.broadcasts().
[[nodiscard]] Finding judge_broadcast(const Config& config);

/// Checks that the interfaces for the broadcast exist, are up, have an address and can
/// multicast (or broadcast, as configured).
[[nodiscard]] std::vector<Finding> check_interfaces(const Config& config);

}  // namespace stage
