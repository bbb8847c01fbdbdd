// Makes of a group's verdict what the plugin of one node reads.
#pragma once

#include "stager/daemon/result/time_line.h"
#include "stager/daemon/tree/failures.h"
#include "stager/daemon/tree/tree_message.h"
#include "stager/messages/worker_setup.h"

#include <optional>
#include <string>

namespace stage {

/// What a node knows when its stage's group has settled.
struct SettledFacts {
    StageKey key;
    std::size_t nodes = 0;
    std::uint64_t bytes = 0;
    StageRole role = StageRole::job;
    const std::optional<WorkerOutcome>& outcome;  ///< The outcome of the worker here, if any.
    const std::string& stage_dir;                 ///< The directory of the job or step here.
    bool is_verbose = false;      ///< --stage-verbose: an ok verdict says what was staged.
    std::string dropped_nodes{};  ///< outcome.h
    /// Where the worker here listened, if not in DataPortRange.
    std::optional<std::uint16_t> port_beyond_range{};
    /// This node is one of them, for that reason.
    std::optional<Failure> own_failure{};
    const StageTimes& times;
};

/// What the plugin of one node reads.
struct NodeVerdict {
    Verdict verdict;
    StageFacts facts;     ///< For log and counters.
    std::string summary;  ///< What was staged, of a success.
};

/// Paths and directories are those of the worker here. They are left out where the message has
/// no room for them: a verdict always fits().
[[nodiscard]] NodeVerdict node_verdict(const GroupVerdict& verdict, const SettledFacts& known);

}  // namespace stage
