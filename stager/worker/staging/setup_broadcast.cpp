#include "stager/worker/staging/setup_broadcast.h"

namespace stage {

namespace {

BroadcastConfig broadcast_of(const WorkerSetup& setup) {
    BroadcastConfig config;
    config.protection = setup.protection;
    config.group_key = setup.group_key;
    config.rate_max_bytes_per_s = setup.rate_max / 8;
    config.rate_bytes_per_s = setup.rate_is_configured ? config.rate_max_bytes_per_s : 0;
    config.may_compress = setup.may_compress;
    config.policies = setup.policies;
    config.drops_failed = setup.drops_failed;
    config.ready_timeout = setup.wire_up_timeout;
    config.connect_timeout = setup.connect_timeout;
    config.stall_timeout = setup.stall_timeout;
    config.linger = setup.linger;
    return config;
}

}  // namespace

Result<MemberPlan> member_plan(const WorkerSetup& setup) {
    MemberPlan plan{
        .own = setup.rank,
        .node = setup.nodes[setup.rank.index()],
        .members = setup.nodes.size(),
        .source = setup.source,
        .is_source = setup.rank == setup.source,
        .transport = setup.transport,
        .broadcasts = setup.group_address == kBroadcastAddress,
        .data_ports = setup.data_ports,
        .session = setup.session,
        // The stage's own limit expires first: its error message is the better one.
        .longest = or_default(setup.stage_timeout, kTimeoutUnset) + std::chrono::seconds{1},
        .broadcast = broadcast_of(setup)};
    if (plan.members > 1) {
        TRY(const auto group, Address::parse(setup.group_address, setup.group_port));
        plan.group = [group](std::uint64_t /*draw*/, std::size_t /*rails*/) { return group; };
    }
    return plan;
}

std::vector<Endpoint> handed_over(const WorkerSetup& setup) {
    std::vector<Endpoint> endpoints;
    int next = kWorkerEndpointsFd;
    for (const SetupEndpoint& given : setup.endpoints) {
        Endpoint& endpoint = endpoints.emplace_back();
        endpoint.fabric = given.fabric;
        endpoint.description = given.description;
        while (endpoint.descriptors.size() < given.descriptors) {
            endpoint.descriptors.emplace_back(next++);
        }
    }
    return endpoints;
}

UniqueFd passage_file(const WorkerSetup& setup) {
    int next = kWorkerEndpointsFd;
    for (const SetupEndpoint& given : setup.endpoints) {
        next += given.descriptors;
    }
    return UniqueFd{next};
}

}  // namespace stage
