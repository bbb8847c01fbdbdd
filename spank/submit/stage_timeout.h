// Reads the time of --stage-timeout.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <string_view>

namespace stage {

/// Accepts Slurm's "minutes:seconds", "hours:minutes:seconds", "days-hours",
/// "days-hours:minutes" and "days-hours:minutes:seconds", or a number with a unit as in
/// stagecast.conf: "90s", "10min", "1.5h". The time must be positive. A bare number is refused
/// (Blame::user), as it would mean minutes to Slurm and seconds in stagecast.conf.
[[nodiscard]] Result<Duration> read_stage_timeout(std::string_view text);

}  // namespace stage
