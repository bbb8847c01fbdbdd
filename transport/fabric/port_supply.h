// The ports on which a member's sockets may be, and how one of them is taken.
#pragma once

#include "transport/base/result.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stage {

/// Consecutive ports: the first and the last; {0, 0} is any port that the kernel chooses.
using PortRun = std::pair<std::uint16_t, std::uint16_t>;

/// Ports of DataPortRange, in the order in which they are tried.
struct PortSupply {
    std::optional<std::uint16_t> lent;  ///< A port that the process holds.
    std::vector<PortRun> open_to_all;   ///< Ports that it does not hold.
    /// None is lent because other stages of the user have as many as the user may have.
    bool is_share_used = false;
};

/// Calls `open` with the port that was lent, then with each run of ports that are open to all,
/// until it succeeds. The error is that of the last run.
template <class Open>
auto open_on_port(const PortSupply& ports, Open open) -> decltype(open(PortRun{})) {
    if (ports.lent) {
        auto opened = open(PortRun{*ports.lent, *ports.lent});
        if (opened || ports.open_to_all.empty()) {
            return opened;
        }
    }
    for (const PortRun& run : ports.open_to_all) {
        auto opened = open(run);
        if (opened) {
            return opened;
        }
        if (run == ports.open_to_all.back()) {
            return ports.is_share_used
                       ? std::move(opened).error().within(
                             "this user's other stages here have the user's share of the ports "
                             "that stagecastd holds")
                       : std::move(opened).error();
        }
    }
    return Error{Blame::node,
                 "no port of DataPortRange is left for this stage; submit it again, or widen "
                 "DataPortRange in stagecast.conf"};
}

}  // namespace stage
