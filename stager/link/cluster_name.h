// Names a node of another cluster: "clusterb/gw1".
//
// Only gateways and the sources of legs have such names, on the links between clusters. A
// NodeName of Slurm has no slash, so that a name says by which key its bearer must prove it.
#pragma once

#include <string>
#include <string_view>

namespace stage {

[[nodiscard]] inline bool is_of_cluster(std::string_view name) {
    return name.find('/') != std::string_view::npos;
}

/// The cluster of such a name.
[[nodiscard]] inline std::string cluster_of(std::string_view name) {
    return std::string{name.substr(0, name.find('/'))};
}

[[nodiscard]] inline std::string name_in_cluster(const std::string& cluster,
                                                 const std::string& node) {
    return cluster + "/" + node;
}

}  // namespace stage
