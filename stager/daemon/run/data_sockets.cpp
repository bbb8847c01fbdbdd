#include "stager/daemon/run/data_sockets.h"

#include "transport/os/route.h"
#include "transport/tcp/tcp_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

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

/// Opens sockets on the port that was lent, or on one that is open to all. `open` takes a
/// sequence of ports.
template <class Open>
auto open_on_port(const StagePorts& ports, Open open)
    -> decltype(open(std::pair<std::uint16_t, std::uint16_t>{})) {
    if (ports.lent) {
        auto opened = open(std::pair{*ports.lent, *ports.lent});
        if (opened || ports.open_to_all.empty()) {
            return opened;
        }
    }
    for (const auto& run : ports.open_to_all) {
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

/// So that no user can keep a stage from its port, it is any port in the end.
Result<UniqueFd> open_relay_listener(const Address& own,
                                     const StagePorts& ports,
                                     const tcp::Shaping& shaping) {
    if (ports.lent) {
        auto listener = tcp::listen_on_held(own.with_port(*ports.lent), shaping);
        if (listener || listener.error().cause() != EADDRINUSE) {
            return listener;
        }
    }
    for (const auto& run : ports.open_to_all) {
        auto listener = tcp::listen_in_range(own, run, shaping);
        if (listener || listener.error().cause() != EADDRINUSE) {
            return listener;
        }
    }
    return tcp::listen_in_range(own, {0, 0}, shaping);
}

}  // namespace

std::optional<std::uint16_t> port_beyond_range(const Config& config,
                                               const DataSockets& sockets) {
    const auto bound = sockets.listener ? udp::bound_address(sockets.listener.get())
                                        : Result<Address>{Address{}};
    const auto& range = config.data_port_range;
    const bool is_beyond =
        bound && bound->port != 0 && (bound->port < range.first || bound->port > range.last);
    return is_beyond ? std::optional{bound->port} : std::nullopt;
}

Result<DataSockets> open_relay_sockets(const Config& config,
                                       const StagePorts& ports,
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
    TRY(auto listener,
        open_relay_listener(rail->address, ports, relay_shaping(config, rail_count)));
    DataSockets sockets;
    sockets.listener = std::move(listener);
    sockets.interfaces.push_back(rail->name);
    return sockets;
}

Result<DataSockets> open_data_sockets(const Config& config,
                                      const StagePorts& ports,
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
    TRY(auto multicast, udp::open_flow_sockets(flows, rails, options));
    TRY(auto unicast, open_on_port(ports, [&](const auto& run) {
            return udp::open_peer_socket(rails.front().address, run, options);
        }));
    const auto open_rails = [&](const auto& run) {
        return udp::open_rail_sockets(rails, run, options);
    };
    TRY(auto others,
        is_source ? open_on_port(ports, open_rails)
                  : Result<std::vector<UniqueFd>>{std::vector<UniqueFd>{}});
    DataSockets sockets;
    if (may_relay) {
        TRY(auto listener,
            open_relay_listener(
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
