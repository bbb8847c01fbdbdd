// Says which release this is and where it is installed, as the Makefile knew at build time.
#pragma once

#include <string>

namespace stage {

/// "0.1.0" of a release; "0.1.0~git20261126.9a95222" of a commit that is none, with "+dirty"
/// where the sources were not that commit's. Two builds of one version fit each other.
[[nodiscard]] const char* version();

/// The default path of stagecast.conf: SYSCONFDIR/stagecast/stagecast.conf.
[[nodiscard]] std::string config_path();

/// PREFIX/libexec/stagecast/stagecast-worker.
[[nodiscard]] std::string worker_path();

}  // namespace stage
