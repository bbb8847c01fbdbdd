// Which sockets does a worker need that a user may not make?
//
// One a lane in the multicast group, on the site's interface and no other, and one of the
// node's own, in the site's port range; both larger than rmem_max allows. The daemon opens,
// binds, joins and sizes them as root (transport/udp/sockets.h) and hands them over; the worker
// needs no right for any of it.
#pragma once

#include "stager/config/config.h"
#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/unique_fd.h"

#include <string>
#include <vector>

namespace stage {

struct DataSockets {
    std::vector<UniqueFd> lanes;  ///< Of the group.
    UniqueFd unicast;
    std::string interface;
};

/// On the first interface of the configuration that has an address of the group's family.
/// `group`: with its first lane's port. Fails (Blame::node) naming the key of stagecast.conf to
/// look at.
[[nodiscard]] Result<DataSockets> open_data_sockets(const Config& config,
                                                    const Address& group,
                                                    std::size_t lanes);

}  // namespace stage
