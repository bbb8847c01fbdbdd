#include "stager/daemon/run/data_sockets.h"

#include "transport/os/route.h"
#include "transport/tcp/tcp_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <optional>

namespace stage {
namespace {

constexpr std::uint64_t kMaxBufferBytes = 1U << 30U;  // The kernel's limit is an int.

/// At most `most` of this node's rails, with addresses of a family.
Result<std::vector<udp::Rail>> own_rails(const Config& config,
                                         int family,
                                         std::size_t most,
                                         const udp::Neighbours& neighbours) {
    if (config.interfaces.empty()) {
        return Error{Blame::node,
                     "Interface is not set in stagecast.conf; name the network interface that "
                     "multicast may use"};
    }
    std::vector<RailNames> entries = config.interfaces;
    for (RailNames& entry : entries) {
        std::ranges::transform(entry, entry.begin(), udp::interface_called);
    }
    auto rails = udp::choose_rails(entries, udp::interfaces_here(family, neighbours));
    if (rails && rails->size() > most) {
        rails->resize(most);
    }
    return rails;
}

/// The interface by which this node reaches the others: its own name may lead it to 127.0.1.1
/// or 127.0.0.1, as /etc/hosts often has it.
std::optional<udp::Rail> rail_towards(const std::vector<Address>& others) {
    const auto ip = others.empty() ? std::nullopt : address_towards(others.front().ip);
    if (!ip) {
        return std::nullopt;
    }
    const Address address{.ip = *ip, .port = 0};
    const auto name = udp::interface_of(address);
    return name ? std::optional{udp::Rail{.name = *name, .address = address}} : std::nullopt;
}

/// The interface with the address by which the neighbours know this node, or that leads to
/// them, or the first that is up and is not the loopback.
Result<udp::Rail> known_rail(const udp::Neighbours& neighbours) {
    const int family = neighbours.own ? neighbours.own->family() : AF_INET;
    const auto here = udp::interfaces_here(family, neighbours);
    const auto known = std::ranges::find_if(here, [&](const udp::InterfaceHere& one) {
        return neighbours.own && one.address.ip == neighbours.own->ip;
    });
    if (known == here.end() || known->address.ip.is_loopback()) {
        if (auto rail = rail_towards(neighbours.others)) {
            return *std::move(rail);
        }
    }
    const auto usable = std::ranges::find_if(here, [](const udp::InterfaceHere& one) {
        return one.is_up && one.has_link && one.name != "lo";
    });
    const auto found = known != here.end() ? known : usable;
    if (found == here.end()) {
        return Error{Blame::node, "this node has no network interface with an address"}.remedy(
            "name one in stagecast.conf (Interface=)");
    }
    return udp::Rail{.name = found->name, .address = found->address};
}

/// How a relay's connections are made. The kernel can't limit a multipath connection's rate.
tcp::Shaping relay_shaping(const Config& config, std::size_t rails) {
    return {.dscp = static_cast<std::uint8_t>(config.dscp),
            .is_multipath = rails > 1 && !tcp::limits_rate(config.rate_max * 8)};
}

}  // namespace

Result<DataSockets> open_relay_sockets(const Config& config,
                                       const udp::Neighbours& neighbours) {
    std::size_t rail_count = 1;
    auto rail = known_rail(neighbours);
    if (!config.interfaces.empty()) {
        const auto rails = own_rails(
            config, neighbours.own.value_or(Address{}).family(), kPolicyRailsMax, neighbours);
        rail = rails ? Result<udp::Rail>{rails->front()} : Result<udp::Rail>{rails.error()};
        rail_count = rails ? rails->size() : 0;
    }
    if (!rail) {
        return rail.error();
    }
    const std::pair ports{config.data_port_range.first, config.data_port_range.last};
    TRY(auto listener,
        tcp::open_listener(rail->address, ports, relay_shaping(config, rail_count)));
    DataSockets sockets;
    sockets.listener = std::move(listener);
    sockets.interfaces.push_back(rail->name);
    return sockets;
}

Result<DataSockets> open_data_sockets(const Config& config,
                                      const udp::GroupFlows& flows,
                                      const udp::Neighbours& neighbours,
                                      bool is_source,
                                      bool may_relay) {
    TRY(const auto rails, own_rails(config, flows.first.family(), flows.rails, neighbours));
    const udp::SocketOptions options{.interface = rails.front().name,
                                     .ttl = static_cast<std::uint8_t>(config.ttl),
                                     .dscp = static_cast<std::uint8_t>(config.dscp),
                                     .buffer_bytes = static_cast<std::uint32_t>(
                                         std::min(config.socket_buffer, kMaxBufferBytes)),
                                     .force_buffer = true,
                                     .broadcasts = udp::is_broadcast(flows.first),
                                     .is_holder = true};
    const std::pair ports{config.data_port_range.first, config.data_port_range.last};
    TRY(auto multicast, udp::open_flow_sockets(flows, rails, options));
    TRY(auto unicast, udp::open_peer_socket(rails.front().address, ports, options));
    TRY(auto others,
        is_source ? udp::open_rail_sockets(rails, ports, options)
                  : Result<std::vector<UniqueFd>>{std::vector<UniqueFd>{}});
    DataSockets sockets;
    if (may_relay) {
        TRY(auto listener,
            tcp::open_listener(
                rails.front().address, ports, relay_shaping(config, rails.size())));
        sockets.listener = std::move(listener);
    }
    sockets.flows = std::move(multicast);
    sockets.unicast = std::move(unicast);
    sockets.rails = std::move(others);
    for (const udp::Rail& rail : rails) {
        sockets.interfaces.push_back(rail.name);
    }
    return sockets;
}

}  // namespace stage
