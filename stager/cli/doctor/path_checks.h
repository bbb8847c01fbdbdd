// Are the places that stagecast.conf names there?
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/config/config.h"

#include <optional>

namespace stage {

/// What stagecastd starts.
[[nodiscard]] Finding check_libexec(const Config& config);
/// One finding for each of DestRoots that is no directory.
[[nodiscard]] std::vector<Finding> check_dest_roots(const Config& config);
/// One finding for each of PushRoots that is no directory, or one that another user can have
/// placed; and one where no node may push there. Only root can tell.
[[nodiscard]] std::vector<Finding> check_push_roots(const Config& config);
/// The directory of MetricsFile; nothing where there is none.
[[nodiscard]] std::optional<Finding> check_metrics_file(const Config& config);
/// StageRoot on the file system of slurmd's spool directory.
[[nodiscard]] std::optional<Finding> check_spool(const Config& config,
                                                 const std::string& spool);
/// SlurmdSpoolDir with %h and %n filled in.
[[nodiscard]] std::string spool_of(std::string pattern,
                                   const std::string& host,
                                   const std::string& node);

}  // namespace stage
