// Where does a run's worker write, and by what does it talk? The part of NodeRun that makes the
// job's directory and opens the sockets.
#include "stager/daemon/data_ports.h"
#include "stager/daemon/job_directory.h"
#include "stager/daemon/job_roots.h"
#include "stager/daemon/loop.h"
#include "stager/daemon/node_run.h"
#include "stager/daemon/verdict_store.h"

#include <cerrno>
#include <utility>

namespace stage {

void NodeRun::make_directory(int root) {
    const StageKey& key = order_.request.key;
    const Owner owner{order_.request.uid, order_.request.gid};
    Status made = make_job_directory(root, key.job_id, owner);
    if (made && key.step_id != kWholeJob) {
        made = make_step_directory(root, key.job_id, key.step_id, owner);
    }
    made = made ? outside_.begin(root, order_.request) : made;
    if (!made) {
        fail(made.error().blame(), made.error().sentence());
    }
    directory_ = job_directory(services_.config, services_.verdicts, key.job_id);
}

bool NodeRun::awaits_others() const {
    if (progress_.phase == WorkerPhase::wire_up) {
        return part_left_;
    }
    return progress_.bytes_total > 0 && progress_.bytes >= progress_.bytes_total;
}

/// By NodeAddr, as Slurm has them.
udp::Neighbours NodeRun::neighbours() const {
    udp::Neighbours known;
    for (std::size_t rank = 0; rank < order_.plan.nodes.size(); ++rank) {
        const auto address = Address::parse(order_.plan.nodes[rank].address, 0);
        if (address && rank == order_.self.index()) {
            known.own = *address;
        } else if (address) {
            known.others.push_back(*address);
        }
    }
    return known;
}

void NodeRun::open_sockets() {
    const auto group = Address::parse(order_.plan.group_address, order_.plan.group_port);
    if (!group) {
        fail(Blame::internal, group.error().sentence());
        return;
    }
    if (!services_.ports.taken().empty()) {  // Their programs may have ended.
        services_.ports.hold(services_.config.data_port_range);
    }
    auto sockets = open_data_sockets(
        services_.config,
        {.first = *group, .lanes = order_.plan.policies.lanes, .rails = order_.plan.rails},
        neighbours(),
        order_.self == Rank{0});
    if (!sockets && sockets.error().cause() == EADDRINUSE) {
        waits_for_port_ = true;
        services_.loop.defer(
            [this, why = sockets.error().sentence(), alive = std::weak_ptr<bool>{alive_}] {
                if (!alive.expired()) {
                    owner_.on_port_taken(why);
                }
            });
        return;
    }
    if (!sockets) {
        fail(sockets.error().blame(), sockets.error().sentence());
        return;
    }
    sockets_ = *std::move(sockets);
}

void NodeRun::move(std::uint16_t port) {
    order_.plan.group_port = port;
    waits_for_port_ = false;
    sockets_ = {};
    go_direct();
}

}  // namespace stage
