// Measures how long the phases of a stage took, as rank 0 sees them, and logs them.
#pragma once

#include "stager/control/message.h"
#include "stager/daemon/base/counters.h"
#include "stager/messages/worker_statistics.h"
#include "transport/base/log.h"
#include "transport/base/units.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct StageTimes {
    std::optional<Instant> announced;  ///< The plugin has announced the stage.
    std::optional<Instant> planned;    ///< The addresses are known, the SETUPs are sent.
    std::optional<Instant> started;    ///< The worker runs.
    std::optional<Instant> wired;      ///< All cards have arrived.
    std::optional<Instant> done;       ///< This node's worker is done.
    std::optional<Instant> settled;    ///< All nodes are done.
};

struct StageFacts {
    StageKey key;
    std::size_t nodes = 0;
    std::uint64_t bytes = 0;
    VerdictState outcome = VerdictState::failed;
    Blame blame = Blame::internal;  ///< Where it failed.
    std::string sentence;
    StageRole role = StageRole::job;
    /// Nodes that failed for a reason that is not the user's, where this node is to count them.
    std::vector<std::string> culprits{};
};

/// Logs `stage finished job=.. nodes=.. bytes=.. announce_ms=.. wireup_ms=.. transfer_ms=..
/// verify_ms=.. outcome=..`; a phase that was not reached has -1.
void log_time_line(const Logger& log, const StageFacts& facts, const StageTimes& times);

/// Adds the stage to the counters (metrics.h).
void count_settled(Counters& counters, const StageFacts& facts, const StageTimes& times);

/// The summary for the user: "2 files, 64.0 MB, on 8 nodes in 3.1 s (transfer 2.9 s)".
[[nodiscard]] std::string summary_of(const StageFacts& facts,
                                     std::size_t files,
                                     const StageTimes& times);

/// Adds what a worker counted to the counters.
void count_worker(WorkerCounts& counters, const WorkerStatistics& counted);

/// Logs a worker's counters, "worker left job=.. packets_lost=.. packets_rejected=..".
void log_worker(const Logger& log, const StageKey& key, const WorkerStatistics& counted);

}  // namespace stage
