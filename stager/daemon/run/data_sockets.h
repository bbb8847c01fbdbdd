// Opens the sockets that a worker needs and that a user may not open.
//
// They are one per flow in the multicast group, on the site's interfaces only, and a unicast
// socket of the node's own, in the site's port range; all with larger buffers than rmem_max
// allows. The source has one more for each further rail. The daemon opens, binds, joins and
// sizes them as root (transport/udp/sockets.h) and hands them over, so that the worker needs no
// privilege.
#pragma once

#include "stager/config/config.h"
#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"
#include "transport/udp/sockets.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage {

/// The ports of DataPortRange on which a stage's sockets may be, in this order.
struct StagePorts {
    std::optional<std::uint16_t> lent;  ///< A port that the daemon holds (data_ports.h).
    /// Ports that it does not hold: the first and the last of each sequence.
    std::vector<std::pair<std::uint16_t, std::uint16_t>> open_to_all;
    /// None is lent because other stages of the user have as many as the user may have.
    bool is_share_used = false;
};

struct DataSockets {
    std::vector<UniqueFd> flows;  ///< Members of the multicast group.
    UniqueFd unicast;
    UniqueFd listener;            ///< Of a relay, which has no other; or in case one is needed.
    std::vector<UniqueFd> rails;  ///< The source's, for sending on each rail but the first.
    std::vector<std::string> interfaces;  ///< By rail.
};

/// Uses the first entry of the configuration for which this node has an address of the group's
/// family, and the address that the neighbours reach; and as many of its rails as the group
/// has. Fails (Blame::node) with the key of stagecast.conf that is to be checked. `may_relay`:
/// with a listener for the relay by which the group may go on.
[[nodiscard]] Result<DataSockets> open_data_sockets(const Config& config,
                                                    const StagePorts& ports,
                                                    const udp::GroupFlows& flows,
                                                    const udp::Neighbours& neighbours,
                                                    bool is_source,
                                                    bool may_relay);

/// The socket of a relay, on the address that such an entry gives; without an entry on the
/// address by which the neighbours know this node.
[[nodiscard]] Result<DataSockets> open_relay_sockets(const Config& config,
                                                     const StagePorts& ports,
                                                     const udp::Neighbours& neighbours);

/// The listener's port if it is not one of DataPortRange, all TCP ports of which other programs
/// have; a firewall may block it.
[[nodiscard]] std::optional<std::uint16_t> port_beyond_range(const Config& config,
                                                             const DataSockets& sockets);

}  // namespace stage
