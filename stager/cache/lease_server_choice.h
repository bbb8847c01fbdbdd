// Chooses the lease server of a file: the daemon that all nodes ask about it.
//
// All nodes must choose the same one without communication. So the cluster's nodes are ranked
// by hashes of their names: a few of them are candidates, and each file selects one of those. A
// node that joins or leaves the cluster changes the choice for its own files only. Two nodes
// whose node lists differ for a moment ask two lease servers, and the file is read twice.
#pragma once

#include "stager/cache/leases.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

inline constexpr std::size_t kLeaseServersMax = 64;

/// Returns at most kLeaseServersMax of `nodes`, independent of their order.
[[nodiscard]] std::vector<std::string> draw_lease_servers(std::vector<std::string> nodes);

/// Returns the index of one of `servers`; requires that there is one.
[[nodiscard]] std::size_t lease_server_of(const std::vector<std::string>& servers,
                                          const LeasedFile& file);

}  // namespace stage
