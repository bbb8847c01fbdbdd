#include "stager/worker/staging/handed_over.h"

namespace stage {

BroadcastSockets handed_over(const WorkerSetup& setup) {
    BroadcastSockets sockets;
    if (setup.nodes.size() == 1) {
        return sockets;
    }
    if (setup.transport == Transport::tcp) {
        sockets.listener.reset(kWorkerGroupFd);
        return sockets;
    }
    int next = kWorkerFlowsFd;
    sockets.flows.emplace_back(kWorkerGroupFd);
    while (sockets.flows.size() < setup.policies.flows) {
        sockets.flows.emplace_back(next++);
    }
    sockets.peer.reset(kWorkerUnicastFd);
    const bool is_source = setup.rank == setup.source;
    for (std::size_t rail = 1; is_source && rail < setup.interfaces.size(); ++rail) {
        sockets.rails.emplace_back(next++);
    }
    if (setup.transport == Transport::automatic) {
        sockets.listener.reset(next++);
    }
    sockets.interfaces = setup.interfaces;
    sockets.group_rails = setup.rails;
    return sockets;
}

}  // namespace stage
