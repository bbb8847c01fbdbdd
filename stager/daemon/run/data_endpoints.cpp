#include "stager/daemon/run/data_endpoints.h"

#include "transport/fabrics/fabrics.h"
#include "transport/os/route.h"

#include <sys/socket.h>

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint64_t kMaxBufferBytes = 1U << 30U;  // The kernel's limit is an int.

/// At most `most` of this node's rails, with addresses of a family.
Result<std::vector<Rail>> own_rails(const Config& config,
                                    int family,
                                    std::size_t most,
                                    const Neighbours& neighbours) {
    if (config.interfaces.empty()) {
        return Error{Blame::node,
                     "Interface is not set in stagecast.conf; name the network interface that "
                     "multicast may use"};
    }
    std::vector<RailNames> entries = config.interfaces;
    for (RailNames& entry : entries) {
        std::ranges::transform(entry, entry.begin(), interface_called);
    }
    auto rails = choose_rails(entries, interfaces_here(family, neighbours));
    if (rails && rails->size() > most) {
        rails->resize(most);
    }
    return rails;
}

/// The interface by which this node reaches the others: its own name may lead it to 127.0.1.1
/// or 127.0.0.1, as /etc/hosts often has it.
std::optional<Rail> rail_towards(const std::vector<Address>& others) {
    const auto ip = others.empty() ? std::nullopt : address_towards(others.front().ip);
    if (!ip) {
        return std::nullopt;
    }
    const Address address{.ip = *ip, .port = 0};
    const auto name = interface_of(address);
    return name ? std::optional{Rail{.name = *name, .address = address}} : std::nullopt;
}

/// The interface with the address by which the neighbours know this node, or that leads to
/// them, or the first that is up and is not the loopback.
Result<Rail> known_rail(const Neighbours& neighbours) {
    const int family = neighbours.own ? neighbours.own->family() : AF_INET;
    const auto here = interfaces_here(family, neighbours);
    const auto known = std::ranges::find_if(here, [&](const InterfaceHere& one) {
        return neighbours.own && one.address.ip == neighbours.own->ip;
    });
    if (known == here.end() || known->address.ip.is_loopback()) {
        if (auto rail = rail_towards(neighbours.others)) {
            return *std::move(rail);
        }
    }
    const auto usable = std::ranges::find_if(here, [](const InterfaceHere& one) {
        return one.is_up && one.has_link && one.name != "lo";
    });
    const auto found = known != here.end() ? known : usable;
    if (found == here.end()) {
        return Error{Blame::node, "this node has no network interface with an address"}.remedy(
            "name one in stagecast.conf (Interface=)");
    }
    return Rail{.name = found->name, .address = found->address};
}

/// A relay goes by TCP, which is routed: it can do without an entry of Interface=.
Result<std::vector<Rail>> rails_for(const Config& config,
                                    const EndpointOrder& order,
                                    bool has_multicast) {
    if (has_multicast) {
        return own_rails(
            config, order.group.first.family(), order.group.rails, order.neighbours);
    }
    if (!config.interfaces.empty() && !order.is_leg) {
        return own_rails(config,
                         order.neighbours.own.value_or(Address{}).family(),
                         kPolicyRailsMax,
                         order.neighbours);
    }
    TRY(auto rail, known_rail(order.neighbours));
    return std::vector{std::move(rail)};
}

}  // namespace

Result<std::vector<Endpoint>> open_endpoints(const Config& config,
                                             const PortSupply& ports,
                                             const EndpointOrder& order) {
    const std::vector<const Fabric*> fabrics =
        order.is_leg ? fabrics_of_leg(config.wide_area) : fabrics_for(order.transport);
    const bool has_multicast =
        !order.is_leg && std::ranges::any_of(fabrics, &Fabric::has_multicast);
    TRY(auto rails, rails_for(config, order, has_multicast));
    const EndpointPlan plan{.rails = std::move(rails),
                            .ports = ports,
                            .ttl = static_cast<std::uint8_t>(config.ttl),
                            .dscp = static_cast<std::uint8_t>(config.dscp),
                            .buffer_bytes = static_cast<std::uint32_t>(
                                std::min(config.socket_buffer, kMaxBufferBytes)),
                            .force_buffer = true,
                            .holds_ports = true,
                            .rate_max = config.rate_max * 8,
                            .is_source = order.is_source,
                            .is_leg = order.is_leg,
                            .group = order.group};
    std::vector<Endpoint> endpoints;
    for (const Fabric* fabric : fabrics) {
        TRY(auto endpoint, fabric->open(plan));
        endpoints.push_back(std::move(endpoint));
    }
    return endpoints;
}

std::optional<std::uint16_t> port_beyond_range(const Config& config,
                                               const std::vector<Endpoint>& endpoints) {
    const auto& range = config.data_port_range;
    for (const Endpoint& endpoint : endpoints) {
        if (endpoint.stray_port &&
            (*endpoint.stray_port < range.first || *endpoint.stray_port > range.last)) {
            return endpoint.stray_port;
        }
    }
    return std::nullopt;
}

}  // namespace stage
