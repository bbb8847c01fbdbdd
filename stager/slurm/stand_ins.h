// Decides whether a requeued job may be kept off the nodes at fault: only if other nodes can
// stand in for them, because Slurm holds a job that can run nowhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stage {

/// What slurmctld knows of a node.
struct NodeFacts {
    std::string name;
    std::vector<std::string> partitions;
    std::uint32_t cpus = 0;
    std::uint64_t memory_mb = 0;
    std::string features;
    std::string gres;
    bool is_up = true;  ///< Not down, drained or reserved.
};

/// What a job was given and has asked for.
struct JobFacts {
    std::vector<std::string> partitions;
    std::vector<std::string> nodes;     ///< Its allocation.
    std::vector<std::string> excluded;  ///< By its user, or by an earlier requeue.
    bool names_nodes = false;           ///< It asked for nodes by name.
    bool has_reservation = false;
};

/// True if for each of `faulty` there is another node that the job does not have yet and may
/// have: up, of one of its partitions, as large, with the same features and resources. So it
/// meets whatever the job asked for, as the one at fault did.
[[nodiscard]] bool have_stand_ins(const std::vector<NodeFacts>& nodes,
                                  const JobFacts& job,
                                  const std::vector<std::string>& faulty);

}  // namespace stage
