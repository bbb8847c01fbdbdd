#include "stager/worker/engine/engine_member.h"

#include "stager/config/config.h"
#include "stager/config/engine_ports.h"
#include "transport/fabrics/fabrics.h"

#include <unistd.h>

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

/// What does not depend on the members.
BroadcastConfig broadcast_of(const EngineOptions& options, const EngineGroup& group) {
    BroadcastConfig config;
    config.protection = options.protection;
    config.group_key = group.key;
    config.rate_bytes_per_s = options.configured_rate / 8;
    config.rate_max_bytes_per_s =
        options.configured_rate != 0 ? config.rate_bytes_per_s : options.rate_max / 8;
    config.rate_remembered_bytes_per_s = options.rate_remembered / 8;
    config.may_compress = options.may_compress;
    config.policies = options.policies;
    config.ready_timeout = kReadyTimeout;
    config.stall_timeout = options.stall_timeout;
    config.linger = kLinger;
    return config;
}

}  // namespace

Result<BroadcastMember> engine_member(const EngineOptions& options, const EngineGroup& group) {
    MemberPlan plan{
        .own = group.own,
        .node = {},
        .members = group.size,
        .source = kSource,
        .is_source = group.is_source,
        .relay = options.relay,
        .transport = options.transport,
        .broadcasts = options.broadcasts,
        .group = [broadcasts = options.broadcasts](
                     std::uint64_t draw,
                     std::size_t rails) { return group_address(draw, rails, broadcasts); },
        .data_ports = std::to_string(kEnginePortFirst) + "-" + std::to_string(kEnginePortLast),
        .longest = options.connect_timeout,
        .broadcast = broadcast_of(options, group)};
    std::vector<Endpoint> endpoints;
    if (group.size > 1) {
        TRY(endpoints, open_endpoints(options, group));
    }
    return BroadcastMember{std::move(plan), std::move(endpoints)};
}

}  // namespace stage
