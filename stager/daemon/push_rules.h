// What may be pushed to this node, and by whom?
//
// A push is root's order: no job, no plugin that speaks for it. So it comes over a sealed link
// whose other end munge has proved to be root, and it writes below PushRoots only, a list that
// is empty until this node's own configuration says otherwise.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/plan.h"
#include "transport/base/log.h"

#include <optional>
#include <string>

namespace stage {

/// Why this node takes no part in a push of `specs`, or nothing. No disk is asked.
[[nodiscard]] std::optional<std::string> objection_to_push(const Config& config,
                                                           const std::string& specs);

/// Warns of each of PushRoots that another user may have placed, or could replace: its worker
/// would refuse every push there. Reads the disk, as the opening of StageRoot does.
void warn_of_push_roots(const Config& config, const Logger& log);

/// What a plugin would say of it on the node `name`: root's, with the plan's own specs.
[[nodiscard]] StageRequest request_of_push(const StageKey& key,
                                           const StagePlan& plan,
                                           const std::string& name);

}  // namespace stage
