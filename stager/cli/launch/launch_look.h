// Would a push go well on the nodes that a launcher reaches, or is the same there already?
//
// Before the first byte: the source is looked at where it lies, then each node looks for place
// and room for just that, or reads what lies there. As the daemons' pushes have it
// (daemon/push/push_preflight.h).
#pragma once

#include "stager/cli/launch/launch_survey.h"

namespace stage {

/// Of the nodes that are fit: who could not take it has failed; if contents are compared, who
/// has the same is done, the others have failed. The source's bytes. Fails where the source
/// can't be read.
[[nodiscard]] Result<std::uint64_t> look_at_nodes(std::vector<LaunchNode>& nodes,
                                                  const PushOptions& options,
                                                  const Config& site);

}  // namespace stage
