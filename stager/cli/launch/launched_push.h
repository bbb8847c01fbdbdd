// How does a push go where no daemons run?
//
// The same worker, the engine alone, on every node, started by whatever the site starts
// programs with (launcher.h), as whoever calls: ssh, pdsh and clush hand each member the key
// and the addresses, srun hosts PMIx. First each node is tried: who does not answer, has no
// worker or no place for the file is named and not waited for. The others are one group; where
// a member fails after all it is named, too, and the rest begin another round, as daemons do
// it.
#pragma once

#include "stager/cli/push/push_options.h"

#include <nlohmann/json_fwd.hpp>

namespace stage {

/// Blocks until it is over, or the command is told to end. What push_report.h tells.
[[nodiscard]] nlohmann::json push_by_launcher(const PushOptions& options);

}  // namespace stage
