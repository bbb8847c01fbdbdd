// Divides the nodes of a push by their clusters: "n[0-7],clusterb:n[0-63],clusterc:n1,n8".
#pragma once

#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct ClusterTargets {
    std::string cluster;  ///< Empty: this one.
    std::string nodes;    ///< A list of nodes.

    bool operator==(const ClusterTargets&) const = default;
};

/// A name with a colon in front is of that cluster; one without, or with `own`, is of this
/// cluster. Each cluster comes once, in the order in which it is named first. Fails
/// (Blame::user) for an item without a node.
[[nodiscard]] Result<std::vector<ClusterTargets>> targets_by_cluster(std::string_view list,
                                                                     std::string_view own);

}  // namespace stage
