// Checks the paths that stagecast.conf names.
#pragma once

#include "stager/cli/common/finding.h"
#include "stager/config/config.h"

#include <optional>

namespace stage {

/// Checks the programs that stagecastd starts.
[[nodiscard]] Finding check_libexec(const Config& config);
/// One finding for each entry of DestRoots that is no directory.
[[nodiscard]] std::vector<Finding> check_dest_roots(const Config& config);
/// One finding for each entry of PushRoots that is no directory, or that another user could
/// have placed; and one if no node may push there. Needs root.
[[nodiscard]] std::vector<Finding> check_push_roots(const Config& config);
/// One finding for StageRoot, and each entry of DestRoots, that is mounted noexec.
[[nodiscard]] std::vector<Finding> check_noexec(const Config& config);
/// Checks the directory of MetricsFile; nothing if it is not set.
[[nodiscard]] std::optional<Finding> check_metrics_file(const Config& config);
/// Warns if StageRoot is on the file system of slurmd's spool directory.
[[nodiscard]] std::optional<Finding> check_spool(const Config& config,
                                                 const std::string& spool);
/// SlurmdSpoolDir with %h and %n filled in.
[[nodiscard]] std::string spool_of(std::string pattern,
                                   const std::string& host,
                                   const std::string& node);

}  // namespace stage
