// Why does staging not work on this node, and what is to be done?
#pragma once

#include "stager/cli/doctor/finding.h"

#include <string>

namespace stage {

/// What doctor may ask.
enum class DoctorReach : unsigned char {
    cluster,  ///< slurmctld, too.
    local,    ///< This node alone: no message to slurmctld, so every node may ask every minute.
};

/// Looks at everything that can be looked at from this node, in the order in which one depends
/// on the other. `config`: the path of stagecast.conf. Changes nothing.
[[nodiscard]] std::vector<Finding> examine(const std::string& config, DoctorReach reach);

/// A line for each, "ok", "warn", "WRONG" or "?" in front.
[[nodiscard]] std::string report(const std::vector<Finding>& findings);

}  // namespace stage
