#include "stager/worker/engine/engine_connect.h"

#include "stager/config/config.h"
#include "stager/config/engine_ports.h"
#include "stager/worker/broadcast/wiring.h"
#include "transport/fabrics/fabrics.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr Rank kSource{0};
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

EndpointPlan endpoint_plan(const EngineOptions& options, const EngineGroup& group) {
    return {
        .rails = group.rails,
        .ports = {.lent = {}, .open_to_all = {{kEnginePortFirst, kEnginePortLast}}},
        .ttl = options.ttl,
        .dscp = options.dscp,
        .buffer_bytes = kEngineSocketBuffer,
        .force_buffer = ::geteuid() == 0,
        .broadcasts = options.broadcasts,
        .rate_max = options.configured_rate != 0 ? options.configured_rate : options.rate_max,
        .is_source = group.is_source};
}

Result<std::vector<Endpoint>> open_endpoints(const EngineOptions& options,
                                             const EngineGroup& group) {
    std::vector<Endpoint> endpoints;
    for (const Fabric* fabric : fabrics_for(options.transport)) {
        TRY(auto endpoint, fabric->open(endpoint_plan(options, group)));
        endpoints.push_back(std::move(endpoint));
    }
    return endpoints;
}

/// Applies the options that do not depend on the members.
void apply(const EngineOptions& options, BroadcastConfig& config) {
    config.protection = options.protection;
    config.rate_bytes_per_s = options.configured_rate / 8;
    config.rate_max_bytes_per_s =
        options.configured_rate != 0 ? config.rate_bytes_per_s : options.rate_max / 8;
    config.rate_remembered_bytes_per_s = options.rate_remembered / 8;
    config.may_compress = options.may_compress;
    config.policies = options.policies;
    config.ready_timeout = kReadyTimeout;
    config.stall_timeout = options.stall_timeout;
    config.linger = kLinger;
}

}  // namespace

Result<EngineReady> connect_engine(const EngineOptions& options,
                                   EngineGroup& group,
                                   std::uint64_t bytes,
                                   Interrupts& interrupts) {
    EngineReady ready;
    if (group.size == 1) {
        ready.config.members.resize(1);
        return ready;
    }
    TRY(auto endpoints, open_endpoints(options, group));
    TRY(auto card, make_card(group.own, "", endpoints));
    card.relay_degree = relay_for(bytes, group.size, options.relay).number();
    TRY(auto wired, wire_up(*group.directory, card, options.connect_timeout, interrupts));
    // The directory has made sure that it is there.
    group.own = std::ranges::find(wired.cards, card.incarnation, &Card::incarnation)->rank;
    if (group.is_source != (group.own == kSource)) {
        return Error{Blame::internal, "the launcher has made another member the source"};
    }
    ready.cards = std::move(wired.cards);
    const JoinPlan plan{
        .own = group.own,
        .source = kSource,
        .places = {},
        .group = [draw = wired.agreement.draw, broadcasts = options.broadcasts](
                     std::size_t rails) { return group_address(draw, rails, broadcasts); },
        .flows = options.policies.flows,
        .data_ports = std::to_string(kEnginePortFirst) + "-" + std::to_string(kEnginePortLast)};
    TRY(ready.network, Network::among(ready.cards, std::move(endpoints), plan));
    ready.config = broadcast_among(ready.cards, group.own, kSource, ready.network);
    ready.config.group_key = group.key;
    ready.config.session = wired.agreement.session;
    ready.config.version = wired.agreement.version;
    apply(options, ready.config);
    follow(
        choose_transport(facts_of(ready.cards, options.transport)), ready.cards, ready.config);
    TRY(ready.joined,
        ready.network.join(ready.config.scheme, ready.config.rate_max_bytes_per_s));
    return ready;
}

}  // namespace stage
