// Who asks how far it is, and what may they hear?
//
// Root hears of everything, a user of the own jobs. What this node knows is told: of a stage
// whose first node it is, all of it.
#pragma once

#include "stager/daemon/push/pushes.h"
#include "stager/daemon/stage/registry.h"

namespace stage {

/// JSON: {"stages": [...], "pushes": [...], "data_ports": {...}} or, to explain,
/// {"ended": [...], "stages": [...]}.
[[nodiscard]] Report report_for(std::uint32_t uid,
                                const StatusRequest& request,
                                const Services& services,
                                const Registry& registry,
                                const Pushes& pushes);

/// Who knows more of the one job that is asked about: its first node, where that is another
/// one and the asker may hear of the job. Empty: nobody.
[[nodiscard]] std::string first_node_of(std::uint32_t uid,
                                        const StatusRequest& request,
                                        const Services& services,
                                        const Registry& registry);
/// Whether another daemon's report tells of any stage.
[[nodiscard]] bool tells_something(const std::string& report);

}  // namespace stage
