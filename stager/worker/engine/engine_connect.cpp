#include "stager/worker/engine/engine_connect.h"

#include "stager/config/config.h"
#include "stager/config/engine_ports.h"
#include "stager/worker/broadcast/wiring.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <unistd.h>

#include <span>

namespace stage {
namespace {

constexpr std::chrono::seconds kReadyTimeout{5};
constexpr std::chrono::seconds kLinger{60};

/// The group's first address and its port, which all members draw alike from the default groups
/// and the ports that daemons do not use.
Address group_address(std::uint64_t draw, std::size_t rails, bool broadcasts) {
    const Config site = default_config();
    const GroupAddress number =
        broadcasts ? kBroadcastGroup : site.group_at(draw % site.group_count(rails), rails);
    // The port is drawn for the maximum number of flows, so that every member finds the first
    // flow at the same port.
    constexpr std::uint32_t kPorts = 2U + kEnginePortLast - kEnginePortFirst - kPolicyFlowsMax;
    const auto port = static_cast<std::uint16_t>(kEnginePortFirst + (draw >> 32U) % kPorts);
    return Address{.ip = ip_v4(number), .port = port};
}

std::pair<std::uint16_t, std::uint16_t> ports_range() {
    return {kEnginePortFirst, kEnginePortLast};
}

std::vector<std::string> names_of(const std::vector<udp::Rail>& rails) {
    std::vector<std::string> names;
    names.reserve(rails.size());
    for (const udp::Rail& rail : rails) {
        names.push_back(rail.name);
    }
    return names;
}

/// Opens the sockets of the multicast group, to receive and, at the source, to send; not the
/// peer socket.
Result<BroadcastSockets> open_group(const BroadcastConfig& config,
                                    std::span<const udp::Rail> rails,
                                    const udp::SocketOptions& options) {
    const udp::GroupFlows group{
        .first = config.group, .flows = config.policies.flows, .rails = config.rails};
    BroadcastSockets sockets;
    TRY(auto flows, udp::open_flow_sockets(group, rails, options));
    sockets.flows = std::move(flows);
    if (config.own == config.source) {
        TRY(auto senders, udp::open_rail_sockets(rails, ports_range(), options));
        sockets.rails = std::move(senders);
    }
    sockets.interfaces = names_of({rails.begin(), rails.end()});
    sockets.group_rails = rails.size();
    return sockets;
}

/// Applies the options that do not depend on the members.
void apply(const EngineOptions& options, BroadcastConfig& config) {
    config.protection = options.protection;
    config.rate_bytes_per_s = options.configured_rate / 8;
    config.rate_max_bytes_per_s =
        options.configured_rate != 0 ? config.rate_bytes_per_s : options.rate_max / 8;
    config.rate_remembered_bytes_per_s = options.rate_remembered / 8;
    config.may_compress = options.may_compress;
    follow(options.policies, config);
    config.ready_timeout = kReadyTimeout;
    config.data_ports =
        std::to_string(kEnginePortFirst) + "-" + std::to_string(kEnginePortLast);
    config.stall_timeout = options.stall_timeout;
    config.linger = kLinger;
}

}  // namespace

Result<EngineReady> connect_engine(const EngineOptions& options,
                                   EngineGroup& group,
                                   std::uint64_t bytes,
                                   Interrupts& interrupts) {
    EngineReady ready;
    if (!group.must_wire_up) {
        ready.config.members.resize(1);
        return ready;
    }
    const udp::SocketOptions sockets{.interface = group.rails.front().name,
                                     .ttl = options.ttl,
                                     .dscp = options.dscp,
                                     .buffer_bytes = kEngineSocketBuffer,
                                     .force_buffer = ::geteuid() == 0,
                                     .broadcasts = options.broadcasts};
    const Address own{.ip = group.address, .port = 0};
    const bool relays = options.transport == Transport::tcp;
    UniqueFd listener;
    if (options.transport != Transport::udp) {
        TRY(auto opened,
            tcp::open_listener(own,
                               ports_range(),
                               {.dscp = options.dscp,
                                .is_multipath = group.rails.size() > 1 &&
                                                !tcp::limits_rate(options.rate_max) &&
                                                !tcp::limits_rate(options.configured_rate)}));
        listener = std::move(opened);
    }
    TRY(auto peer,
        relays ? std::move(listener) : udp::open_peer_socket(own, ports_range(), sockets));
    TRY(auto card, make_card(group.own, "", peer.get(), names_of(group.rails)));
    card.relay_degree = relays ? relay_degree_for(bytes, group.size, options.relay) : 0;
    TRY(offer_relay(listener, card));
    TRY(put_key(group, card));
    TRY(auto wired, wire_up(*group.directory, card, options.connect_timeout, interrupts));
    if (group.size == 1) {
        ready.config.members.resize(1);
        return ready;
    }
    TRY(take_key(wired.cards, group));
    TRY(auto config, broadcast_among(wired.cards, group.own, options.root));
    ready.config = std::move(config);
    ready.config.group =
        group_address(wired.agreement.draw, ready.config.rails, options.broadcasts);
    ready.config.group_key = group.key;
    ready.config.session = wired.agreement.session;
    ready.config.version = wired.agreement.version;
    apply(options, ready.config);
    if (relays) {
        ready.sockets.listener = std::move(peer);
        ready.cards = std::move(wired.cards);
        return ready;
    }
    follow(choose_transport(facts_of(wired.cards, options.transport)), bytes, ready.config);
    TRY(auto opened,
        open_group(ready.config, std::span{group.rails}.first(ready.config.rails), sockets));
    ready.sockets = std::move(opened);
    ready.sockets.peer = std::move(peer);
    ready.sockets.listener = std::move(listener);
    ready.receive_buffer = receive_buffer_bytes(ready.sockets);
    ready.cards = std::move(wired.cards);
    return ready;
}

}  // namespace stage
