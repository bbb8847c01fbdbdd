// Makes the report on stages and pushes that a user may see.
//
// Root sees everything, a user the user's own jobs. The report says what this node knows: of a
// stage whose first node it is, the state of all nodes.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/pushes.h"
#include "stager/daemon/stage/registry.h"

namespace stage {

/// JSON: {"stages": [...], "pushes": [...], "data_ports": {...}} or, to explain,
/// {"ended": [...], "stages": [...]}.
[[nodiscard]] Report report_for(std::uint32_t uid,
                                const StatusRequest& request,
                                const Services& services,
                                const Registry& registry,
                                const Pushes& pushes);

/// The first node of the one job in question, which knows more about it; empty if this node is
/// the first one, or the user may not see the job.
[[nodiscard]] std::string first_node_of(std::uint32_t uid,
                                        const StatusRequest& request,
                                        const Services& services,
                                        const Registry& registry);
/// Whether another daemon's report mentions any stage.
[[nodiscard]] bool mentions_stages(const std::string& report);

}  // namespace stage
