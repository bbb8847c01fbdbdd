// What may be pushed to this node, and from where.
//
// A push is root's order: no job, no plugin that speaks for it. So it comes over a sealed link
// whose other end munge has proved to be root of some node, from a source that PushFrom allows,
// and it writes below PushRoots only. Both lists are empty until this node's own configuration
// says otherwise.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/tree/plan.h"
#include "transport/base/ip_address.h"
#include "transport/base/log.h"

#include <optional>
#include <string>

namespace stage {

/// The other end of the link that a push's source has made to this node.
struct PushSource {
    std::string node;  ///< As it calls itself: whoever has the munge key may take any name.
    IpAddress address;
};

/// PushFrom has the source's name alone, so the address of that name has to be known.
[[nodiscard]] bool needs_address(const Config& config, const PushSource& source);

/// Why this node takes no push from that source, or nothing. `known`: the numeric address of
/// the name, where needs_address(); empty if it has none.
[[nodiscard]] std::optional<std::string> objection_to_source(const Config& config,
                                                             const PushSource& source,
                                                             const std::string& known);

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
