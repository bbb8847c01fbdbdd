// Looks up the addresses of many hosts at once, within a deadline.
//
// For the child that asks Slurm (slurm_query.h) only: it blocks, and threads that wait for a
// name server are left behind.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>
#include <string>
#include <vector>

namespace stage {

struct NodeName {
    std::string node;
    std::string address;  ///< NodeAddr: numeric, or a host name.
};

/// Numeric, of IPv4 if the host has any such address, as Slurm itself takes unless it is told
/// otherwise. Fails with a sentence that names the node.
[[nodiscard]] Result<std::string> look_up(const NodeName& name);

using LookUp = std::function<Result<std::string>(const NodeName&)>;

/// An answer for each of `names`, in their order. What `one` has not answered `within`
/// that time is an error that says so.
[[nodiscard]] std::vector<Result<std::string>> look_up_all(std::vector<NodeName> names,
                                                           Duration within,
                                                           LookUp one = look_up);

}  // namespace stage
