// Opens the endpoints that a worker needs and that a user may not open.
//
// Their sockets are on the site's interfaces only, in the site's port range, and with larger
// buffers than rmem_max allows. The daemon opens them as root in each fabric of the stage
// (transport/fabric/fabric.h) and hands them over, so that the worker needs no privilege.
#pragma once

#include "stager/config/config.h"
#include "transport/base/result.h"
#include "transport/fabric/fabric.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stage {

/// A node's part of a stage, as far as its endpoints depend on it.
struct EndpointOrder {
    Transport transport = Transport::automatic;
    GroupPlan group;
    Neighbours neighbours;
    bool is_source = false;
    bool is_leg = false;  ///< Interface= names this cluster's networks only.
};

/// Opens an endpoint in each fabric of the order's transport, the best first. They use the
/// first entry of Interface= for which this node has an address of the group's family, and the
/// address that the neighbours reach; and as many of its rails as the group has. A relay alone
/// needs no entry. Fails (Blame::node) with the key of stagecast.conf that is to be checked.
[[nodiscard]] Result<std::vector<Endpoint>> open_endpoints(const Config& config,
                                                           const PortSupply& ports,
                                                           const EndpointOrder& order);

/// The port of a listener that is not one of DataPortRange, all TCP ports of which other
/// programs have; a firewall may block it.
[[nodiscard]] std::optional<std::uint16_t> port_beyond_range(
    const Config& config, const std::vector<Endpoint>& endpoints);

}  // namespace stage
