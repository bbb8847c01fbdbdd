// The preflight check of a push by a launcher: finds the nodes without space, and those that
// have the same content already.
//
// Before the first byte the source is examined on its node; then each node checks destination
// and space, or reads the existing content. The daemons' pushes do the same
// (daemon/push/push_preflight.h).
#pragma once

#include "stager/cli/launch/launch_survey.h"

namespace stage {

/// Changes the state of the nodes that are fit: a node that cannot accept the files has failed.
/// In a comparison a node with the same content is done, the others have failed. Returns the
/// source's bytes. Fails if the source can't be read.
[[nodiscard]] Result<std::uint64_t> look_at_nodes(LaunchNodes& nodes,
                                                  const PushOptions& options,
                                                  const Config& site);

}  // namespace stage
