#include "stager/worker/handed_over.h"

namespace stage {

BroadcastSockets handed_over(const WorkerSetup& setup) {
    BroadcastSockets sockets;
    int next = kWorkerLanesFd;
    sockets.lanes.emplace_back(kWorkerGroupFd);
    while (sockets.lanes.size() < setup.policies.lanes) {
        sockets.lanes.emplace_back(next++);
    }
    sockets.peer.reset(kWorkerUnicastFd);
    const bool is_source = setup.rank == setup.source;
    for (std::size_t rail = 1; is_source && rail < setup.interfaces.size(); ++rail) {
        sockets.rails.emplace_back(next++);
    }
    sockets.interfaces = setup.interfaces;
    sockets.group_rails = setup.group_rails;
    return sockets;
}

}  // namespace stage
