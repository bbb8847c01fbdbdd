#include "transport/udp/udp_fabric.h"

#include "transport/base/fields.h"
#include "transport/fabric/address_field.h"
#include "transport/os/bound_address.h"
#include "transport/udp/sockets.h"
#include "transport/udp/udp_driver.h"
#include "transport/udp/udp_place.h"
#include "transport/wire/packet.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stage::udp {

/// What an endpoint's descriptors are: the peer socket, then `flows` of the group, then
/// `senders` for each rail but the first.
struct UdpDescription {
    std::vector<Rail> rails;
    std::uint8_t flows = 0;        ///< 0: they are opened when the members meet.
    std::uint8_t senders = 0;      ///< The source's.
    std::uint8_t group_rails = 1;  ///< Consecutive addresses of the group.
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 8;
    std::uint32_t buffer_bytes = 0;
    bool force_buffer = false;
    bool broadcasts = false;
    std::vector<PortRun> ports;  ///< For the sockets that are not open yet.
};

void fields(auto& on, Like<UdpDescription> auto& about) {
    on.list(about.rails, kFlowsMax, [](auto& inner, auto& rail) {
        inner.text(rail.name, 255).with(rail.address, put_address, take_address);
    });
    on.number(about.flows).number(about.senders).number(about.group_rails);
    on.number(about.ttl).number(about.dscp).number(about.buffer_bytes);
    on.flag(about.force_buffer).flag(about.broadcasts);
    on.list(about.ports, kFlowsMax, [](auto& inner, auto& run) {
        inner.number(run.first).number(run.second);
    });
    on.require(!about.rails.empty() && about.group_rails >= 1);
}

namespace {

constexpr std::uint32_t kEthernetMtu = 1500;  ///< What every path is expected to carry.
constexpr std::uint32_t kIpv4AndUdpBytes = 28;
constexpr std::uint32_t kIpv6AndUdpBytes = 48;

/// An endpoint's descriptors by their purpose.
struct OpenSockets {
    UniqueFd peer;
    std::vector<UniqueFd> flows;
    std::vector<UniqueFd> senders;
};

SocketOptions options_of(const UdpDescription& about, bool holds_ports) {
    return {.interface = about.rails.front().name,
            .ttl = about.ttl,
            .dscp = about.dscp,
            .buffer_bytes = about.buffer_bytes,
            .force_buffer = about.force_buffer,
            .broadcasts = about.broadcasts,
            .is_holder = holds_ports};
}

Result<UdpDescription> description_of(const Endpoint& endpoint) {
    auto about = decoded<UdpDescription>(endpoint.description);
    if (!about || endpoint.descriptors.size() != 1U + about->flows + about->senders) {
        return Error{Blame::internal, "a UDP endpoint without a description of its sockets"};
    }
    return *std::move(about);
}

OpenSockets sockets_of(const UdpDescription& about, std::vector<UniqueFd> descriptors) {
    OpenSockets sockets;
    auto next = std::make_move_iterator(descriptors.begin());
    sockets.peer = *next++;
    sockets.flows.assign(next, next + about.flows);
    next += about.flows;
    sockets.senders.assign(next, next + about.senders);
    return sockets;
}

/// Opens the sockets by which the source sends to the group on each rail but the first.
Result<std::vector<UniqueFd>> open_senders(const UdpDescription& about,
                                           const PortSupply& ports,
                                           const SocketOptions& options) {
    return open_on_port(ports, [&](const PortRun& run) {
        return open_rail_sockets(about.rails, run, options);
    });
}

/// Restricts the group's sockets to the rails that every member has: the flows of the other
/// rails are moved to these.
Status use_rails(UdpDescription& about,
                 const GroupFlows& flows,
                 std::size_t rails,
                 OpenSockets& sockets) {
    const std::size_t had = about.rails.size();
    for (std::size_t flow = 0; rails < had && flow < sockets.flows.size(); ++flow) {
        const std::string& from = about.rails[flow % had].name;
        const std::string& to = about.rails[flow % rails].name;
        if (from == to) {
            continue;
        }
        const int socket = sockets.flows[flow].get();
        const Address place = flows.address(Flow{static_cast<std::uint8_t>(flow)});
        // A rail that failed meanwhile has no membership to leave.
        static_cast<void>(change_membership(socket, place, from, false));
        TRY(change_membership(socket, place, to, true));
    }
    about.rails.resize(std::min(had, rails));
    sockets.senders.resize(std::min(sockets.senders.size(), about.rails.size() - 1));
    return {};
}

/// What all members have in common.
struct Common {
    std::vector<Address> peers;
    std::uint32_t mtu = std::numeric_limits<std::uint32_t>::max();
    std::uint8_t rails = kFlowsMax;
};

Result<Common> common_of(const std::vector<std::vector<std::byte>>& places) {
    Common common;
    for (const auto& bytes : places) {
        TRY(const auto place, decode_place(bytes));
        common.peers.push_back(place.peer);
        common.mtu = std::min(common.mtu, place.mtu);
        common.rails = std::min(common.rails, place.rails);
    }
    return common;
}

Carrier carrier_of(const Common& common, const OpenSockets& sockets) {
    Carrier carrier{.has_multicast = true,
                    .chunk_bytes_max = wire::kMaxDatagramChunkBytes,
                    .flows = static_cast<std::uint8_t>(sockets.flows.size()),
                    .rails = common.rails};
    const std::uint32_t below =
        common.peers.front().is_v6() ? kIpv6AndUdpBytes : kIpv4AndUdpBytes;
    carrier.packet_bytes = common.mtu - below;
    carrier.packet_bytes_fallback = common.mtu > kEthernetMtu ? kEthernetMtu - below : 0;
    for (const UniqueFd& flow : sockets.flows) {
        carrier.receive_buffer_bytes += receive_buffer_bytes(flow.get());
    }
    return carrier;
}

}  // namespace

Result<Endpoint> UdpFabric::open(const EndpointPlan& plan) const {
    UdpDescription about{.rails = plan.rails,
                         .ttl = plan.ttl,
                         .dscp = plan.dscp,
                         .buffer_bytes = plan.buffer_bytes,
                         .force_buffer = plan.force_buffer,
                         .broadcasts = plan.broadcasts,
                         .ports = {}};
    OpenSockets sockets;
    if (!plan.group) {
        about.ports = plan.ports.open_to_all;
        about.ports.resize(std::min<std::size_t>(about.ports.size(), kFlowsMax));
    } else {
        about.group_rails = static_cast<std::uint8_t>(plan.group->rails);
        about.rails.resize(std::min(about.rails.size(), plan.group->rails));
        about.broadcasts = is_broadcast(plan.group->first);
    }
    const SocketOptions options = options_of(about, plan.holds_ports);
    if (plan.group) {
        const GroupFlows flows{
            .first = plan.group->first, .flows = plan.group->flows, .rails = plan.group->rails};
        TRY(sockets.flows, open_flow_sockets(flows, about.rails, options));
    }
    TRY(auto peer, open_on_port(plan.ports, [&](const PortRun& run) {
            return open_peer_socket(about.rails.front().address, run, options);
        }));
    if (plan.group && plan.is_source) {
        TRY(sockets.senders, open_senders(about, plan.ports, options));
    }
    about.flows = static_cast<std::uint8_t>(sockets.flows.size());
    about.senders = static_cast<std::uint8_t>(sockets.senders.size());
    Endpoint endpoint{.fabric = std::string{name()}, .description = encoded(about)};
    endpoint.descriptors.push_back(std::move(peer));
    std::ranges::move(sockets.flows, std::back_inserter(endpoint.descriptors));
    std::ranges::move(sockets.senders, std::back_inserter(endpoint.descriptors));
    return endpoint;
}

Result<Place> UdpFabric::place(Endpoint& own) const {
    TRY(const auto about, description_of(own));
    UdpPlace place{.mtu = std::numeric_limits<std::uint32_t>::max(),
                   .rails = static_cast<std::uint8_t>(about.rails.size())};
    TRY(place.peer, bound_address(own.descriptors.front().get()));
    if (place.peer.ip.is_any()) {
        return Error{Blame::internal, "the data socket is bound to no address of this node"};
    }
    for (const Rail& rail : about.rails) {
        TRY(const auto mtu, interface_mtu(rail.name));
        if (mtu < kMinMtu) {
            return Error{Blame::node,
                         "the MTU of " + rail.name + " is " + std::to_string(mtu) +
                             ", below the " + std::to_string(kMinMtu) +
                             " bytes that stagecast needs"};
        }
        place.mtu = std::min(place.mtu, mtu);
    }
    return Place{.host = place.peer.ip, .bytes = encode_place(place)};
}

Result<Joined> UdpFabric::join(Endpoint own, const JoinPlan& plan) const {
    TRY(auto about, description_of(own));
    TRY(const auto common, common_of(plan.places));
    OpenSockets sockets = sockets_of(about, std::move(own.descriptors));
    const Address group = plan.group(common.rails);
    if (sockets.flows.empty()) {
        about.rails.resize(std::min<std::size_t>(about.rails.size(), common.rails));
        about.group_rails = common.rails;
        const GroupFlows flows{.first = group,
                               .flows = std::max<std::size_t>(plan.flows, common.rails),
                               .rails = common.rails};
        const SocketOptions options = options_of(about, false);
        TRY(sockets.flows, open_flow_sockets(flows, about.rails, options));
        if (plan.own == plan.source) {
            TRY(sockets.senders,
                open_senders(about, {.lent = {}, .open_to_all = about.ports}, options));
        }
    } else {
        const GroupFlows flows{.first = group, .rails = about.group_rails};
        TRY(use_rails(about, flows, common.rails, sockets));
    }
    const Carrier carrier = carrier_of(common, sockets);
    UdpEndpoints endpoints{.flows = std::move(sockets.flows),
                           .peer = std::move(sockets.peer),
                           .group_address = group,
                           .members = common.peers,
                           .group_rails = about.group_rails,
                           .rails = std::move(sockets.senders)};
    for (const Rail& rail : about.rails) {
        endpoints.interfaces.push_back(rail.name);
    }
    return Joined{.driver = std::make_unique<UdpDriver>(std::move(endpoints)),
                  .carrier = carrier};
}

}  // namespace stage::udp
