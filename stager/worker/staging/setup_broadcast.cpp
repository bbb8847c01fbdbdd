#include "stager/worker/staging/setup_broadcast.h"

namespace stage {

void follow(const WorkerSetup& setup, BroadcastConfig& config) {
    config.protection = setup.protection;
    config.group_key = setup.group_key;
    config.session = setup.session;
    config.rate_max_bytes_per_s = setup.rate_max / 8;
    config.rate_bytes_per_s = setup.rate_is_configured ? config.rate_max_bytes_per_s : 0;
    config.may_compress = setup.may_compress;
    config.policies = setup.policies;
    config.drops_failed = setup.drops_failed;
    config.ready_timeout = setup.wire_up_timeout;
    config.connect_timeout = setup.connect_timeout;
    config.stall_timeout = setup.stall_timeout;
    config.linger = setup.linger;
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
