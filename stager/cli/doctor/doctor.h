// Runs the checks of `stagecast doctor`, which find what prevents staging on this node.
#pragma once

#include "stager/cli/common/finding.h"

#include <string>

namespace stage {

/// What the checks may contact.
enum class DoctorReach : unsigned char {
    cluster,  ///< Also slurmctld.
    local,    ///< Only this node, so that all nodes may run it every minute.
};

/// Runs all checks that are possible on this node, in the order of their dependencies.
/// `config`: the path of stagecast.conf. Changes nothing.
[[nodiscard]] std::vector<Finding> examine(const std::string& config, DoctorReach reach);

/// Nothing prevents staging.
[[nodiscard]] bool is_well(const std::vector<Finding>& findings);

/// Prints one line for each, beginning with "ok", "warn", "WRONG" or "?".
[[nodiscard]] std::string report(const std::vector<Finding>& findings);

/// Makes one object of them (docs/schemas/doctor.schema.json), without a newline at the end.
[[nodiscard]] std::string report_json(const std::vector<Finding>& findings);

}  // namespace stage
