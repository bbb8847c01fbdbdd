// Checks the parts of this node that staging needs.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

namespace stage {

/// Checks StageRoot: a file can be made in it. The directory itself is never made.
[[nodiscard]] Finding check_stage_root(const Config& config);
/// Checks what the daemons log in to each other by: that munged encodes and decodes a
/// credential, or that AuthKeyFile= can be read and no other user can.
[[nodiscard]] Finding check_login(const Config& config);
/// Checks that a PMIx host can be isolated from this node's other users: that a process with
/// the capabilities of stagecastd's unit can make namespaces.
[[nodiscard]] Finding check_pmix(const Config& config);
/// Checks that stagecastd answers on its socket and has this release.
[[nodiscard]] Finding check_daemon(const Config& config);
/// Checks that a process listens at stagecastd's TCP port.
[[nodiscard]] Finding check_port(const Config& config);

}  // namespace stage
