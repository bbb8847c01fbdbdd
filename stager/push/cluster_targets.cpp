#include "stager/push/cluster_targets.h"

#include <algorithm>

namespace stage {
namespace {

/// The items between commas, of which those within brackets do not count.
std::vector<std::string_view> items_of(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    bool is_within = false;
    for (std::size_t at = 0; at <= list.size(); ++at) {
        if (at == list.size() || (list[at] == ',' && !is_within)) {
            items.push_back(list.substr(begin, at - begin));
            begin = at + 1;
        } else if (list[at] == '[' || list[at] == ']') {
            is_within = list[at] == '[';
        }
    }
    return items;
}

}  // namespace

Result<std::vector<ClusterTargets>> targets_by_cluster(std::string_view list,
                                                       std::string_view own) {
    std::vector<ClusterTargets> all;
    for (const std::string_view item : items_of(list)) {
        const std::size_t colon = item.find(':');
        const bool is_ours = colon == std::string_view::npos;
        std::string cluster{is_ours ? std::string_view{} : item.substr(0, colon)};
        const std::string_view nodes = is_ours ? item : item.substr(colon + 1);
        if (nodes.empty() || (!is_ours && cluster.empty())) {
            return Error{Blame::user,
                         "\"" + std::string{item} +
                             "\" names no node; write n[0-7] for nodes of "
                             "this cluster, and clusterb:n[0-7] for another's"};
        }
        if (cluster == own) {
            cluster.clear();
        }
        auto known = std::ranges::find(all, cluster, &ClusterTargets::cluster);
        if (known == all.end()) {
            known = all.insert(all.end(), {.cluster = cluster, .nodes = {}});
        }
        known->nodes += (known->nodes.empty() ? "" : ",") + std::string{nodes};
    }
    return all;
}

}  // namespace stage
