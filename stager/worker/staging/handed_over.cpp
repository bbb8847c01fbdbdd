#include "stager/worker/staging/handed_over.h"

namespace stage {

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

}  // namespace stage
