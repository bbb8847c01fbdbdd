// Decides what may be pushed to this node, and from which nodes.
//
// A push is started by root, without a job and a plugin that announces it. So it must come over
// a sealed link whose other end has proved to be root of some node, from a source that PushFrom
// allows, and it may leave files below PushRoots only: what goes to a relative destination lies
// in the push's own directory in StageRoot, which its end removes. Both lists are empty unless
// this node's own configuration sets them.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/tree/plan.h"
#include "transport/base/ip_address.h"
#include "transport/base/log.h"

#include <optional>
#include <string>

namespace stage {

/// The other end of the link that a push's source has opened to this node.
struct PushSource {
    std::string node;  ///< The name it claims: any holder of the cluster's key may claim it.
    IpAddress address;
};

/// Whether PushFrom has the source's name only, so that the address of that name is needed.
[[nodiscard]] bool needs_address(const Config& config, const PushSource& source);

/// Why this node accepts no push from that source, or nothing. `known`: the numeric address of
/// the name, if needs_address(); empty if it has none.
[[nodiscard]] std::optional<std::string> objection_to_source(const Config& config,
                                                             const PushSource& source,
                                                             const std::string& known);

/// Why this node takes no part in a push of `specs`, or nothing. Accesses no disk.
[[nodiscard]] std::optional<std::string> objection_to_push(const Config& config,
                                                           const std::string& specs);

/// Warns about each of PushRoots that another user may have made, or could replace: the worker
/// would refuse every push there. Reads the disk, as opening StageRoot does.
void warn_of_push_roots(const Config& config, const Logger& log);

/// The request for the node `name`: root's, with the plan's specs.
[[nodiscard]] StageRequest request_of_push(const StageKey& key,
                                           const StagePlan& plan,
                                           const std::string& name);

}  // namespace stage
