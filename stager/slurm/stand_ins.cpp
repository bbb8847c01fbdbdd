#include "stager/slurm/stand_ins.h"

#include <algorithm>
#include <set>

namespace stage {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

bool may_have(const JobFacts& job, const NodeFacts& node) {
    return node.is_up &&
           std::ranges::any_of(node.partitions, [&](const std::string& partition) {
               return has(job.partitions, partition);
           });
}

bool stands_in(const NodeFacts& node, const NodeFacts& gone) {
    return node.cpus >= gone.cpus && node.memory_mb >= gone.memory_mb &&
           node.features == gone.features && node.gres == gone.gres;
}

}  // namespace

bool have_stand_ins(const std::vector<NodeFacts>& nodes,
                    const JobFacts& job,
                    const Names& faulty) {
    if (job.names_nodes || job.has_reservation || faulty.empty()) {
        return false;
    }
    std::set<std::string> taken{job.nodes.begin(), job.nodes.end()};
    taken.insert(job.excluded.begin(), job.excluded.end());
    taken.insert(faulty.begin(), faulty.end());
    for (const std::string& name : faulty) {
        const auto gone = std::ranges::find(nodes, name, &NodeFacts::name);
        const auto found = gone == nodes.end()
                               ? nodes.end()
                               : std::ranges::find_if(nodes, [&](const NodeFacts& node) {
                                     return may_have(job, node) && !taken.contains(node.name) &&
                                            stands_in(node, *gone);
                                 });
        if (found == nodes.end()) {
            return false;
        }
        taken.insert(found->name);
    }
    return true;
}

}  // namespace stage
