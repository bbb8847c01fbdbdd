// Records where the time of a stage went.
//
// Instants of its turns as rank 0 sees them, and the one line they make in the log.
#pragma once

#include "stager/control/message.h"
#include "stager/daemon/base/counters.h"
#include "transport/base/log.h"
#include "transport/base/units.h"

#include <optional>

namespace stage {

struct StageTimes {
    std::optional<Instant> announced;  ///< The plugin was here.
    std::optional<Instant> planned;    ///< Addresses known, SETUPs on their way.
    std::optional<Instant> started;    ///< The worker runs.
    std::optional<Instant> wired;      ///< All cards are here.
    std::optional<Instant> done;       ///< This node's worker is done.
    std::optional<Instant> settled;    ///< All are.
};

struct StageFacts {
    StageKey key;
    std::size_t nodes = 0;
    std::uint64_t bytes = 0;
    VerdictState outcome = VerdictState::failed;
    std::string sentence;
};

/// `stage finished job=.. nodes=.. bytes=.. announce_ms=.. wireup_ms=.. transfer_ms=..
/// verify_ms=.. outcome=..`; a turn that never came has no time: -1.
void log_time_line(const Logger& log, const StageFacts& facts, const StageTimes& times);

/// The same in counters (metrics.h).
void count_settled(Counters& counters, const StageFacts& facts, const StageTimes& times);

/// For the user who asked for it: "2 files, 64.0 MB, on 8 nodes in 3.1 s (transfer 2.9 s)".
[[nodiscard]] std::string summary_of(const StageFacts& facts,
                                     std::size_t files,
                                     const StageTimes& times);

/// What a worker has counted, "worker left job=.. packets_lost=.. packets_rejected=..": the
/// numbers of its one line of JSON, which is the user's to make up.
void log_worker(const Logger& log, const StageKey& key, const std::string& statistics);

}  // namespace stage
