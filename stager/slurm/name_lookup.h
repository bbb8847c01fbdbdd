// Looks up the addresses of many hosts at once, within a deadline.
//
// Only for the child that asks Slurm (slurm_query.h): it blocks, and threads that still wait
// for a name server at the deadline are left behind.
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

/// A numeric address, IPv4 if the host has any, as Slurm itself prefers by default. Fails with
/// an error that names the node.
[[nodiscard]] Result<std::string> look_up(const NodeName& name);

using LookUp = std::function<Result<std::string>(const NodeName&)>;

/// An answer for each of `names`, in their order. A name that `one` has not resolved `within`
/// that time gets an error that says so.
[[nodiscard]] std::vector<Result<std::string>> look_up_all(std::vector<NodeName> names,
                                                           Duration within,
                                                           LookUp one = look_up);

}  // namespace stage
