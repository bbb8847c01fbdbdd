// Which sockets does a worker need that a user may not make?
//
// One a flow in the multicast group, on the site's interfaces and no other, and one of the
// node's own, in the site's port range; all larger than rmem_max allows. The source has one
// more for each further rail. The daemon opens, binds, joins and sizes them as root
// (transport/udp/sockets.h) and hands them over; the worker needs no right for any of it.
#pragma once

#include "stager/config/config.h"
#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"
#include "transport/udp/sockets.h"

#include <string>
#include <vector>

namespace stage {

struct DataSockets {
    std::vector<UniqueFd> flows;  ///< Of the group.
    UniqueFd unicast;
    std::vector<UniqueFd> rails;  ///< The source's, for sending by each rail but the first.
    std::vector<std::string> interfaces;  ///< By rail.
};

/// On the first entry of the configuration that this node has with an address of the group's
/// family, and by the address that the neighbours reach; of its rails as many as the group has.
/// Fails (Blame::node) naming the key of stagecast.conf to look at.
[[nodiscard]] Result<DataSockets> open_data_sockets(const Config& config,
                                                    const udp::GroupFlows& flows,
                                                    const udp::Neighbours& neighbours,
                                                    bool is_source);

}  // namespace stage
