// The time limits, request fields and answers of the calls from the plugin to its node's
// daemon.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "stager/control/client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace stage {

/// Time limit for connecting and sending; the daemon's socket is on this node.
inline constexpr Duration kConnectTimeout = std::chrono::seconds{5};
/// The daemon decides within StageTimeout; this is added for its answer.
inline constexpr Duration kGrace = std::chrono::seconds{3};
/// Time limit for requests that a running daemon answers at once: PING, END and QUERY. (No step
/// begins before the prolog has returned, so the result of a QUERY is known.)
inline constexpr Duration kAnswerTimeout = std::chrono::seconds{5};
inline constexpr CallTimeouts kShortTimeout{.connect = kConnectTimeout,
                                            .answer = kAnswerTimeout};
/// The longest absence of a daemon during a restart. After a crash systemd's RestartSec exceeds
/// it.
inline constexpr Duration kRestart = std::chrono::seconds{5};
inline constexpr CallTimeouts kRetryDuringRestart{
    .connect = kConnectTimeout, .answer = kAnswerTimeout, .absent = kRestart};

/// The first id of the pseudo jobs of `srun -Z` (NOALLOC job ids, Slurm 22.05). They have a
/// prolog but no epilog (measured), so their files would never be removed.
inline constexpr std::uint32_t kFirstPseudoJob = 0xffff0000U;
/// Slurm's name of this node; empty if Slurm does not give it.
[[nodiscard]] std::string node_name(const SpankHandle& handle);

/// The time limits of a STAGE, whose verdict may take as long as the site allows.
[[nodiscard]] CallTimeouts timeouts_of(const Site& site);

/// Parses a number; 0 if the text is none.
[[nodiscard]] std::uint32_t number_of(const std::optional<std::string>& text);

/// Clears fields that exceed their limits: the daemon then refuses the stage, because they are
/// empty, and remembers why.
[[nodiscard]] StageRequest bounded(StageRequest request);

[[nodiscard]] bool is_unknown(const Answer& answer);

/// Returns why an answer lets no task start, or nothing. `is_script_first`:
/// StageFrom=prolog-script, which changes the message for an answer that is_unknown().
[[nodiscard]] std::optional<std::string> objection(const Answer& answer, bool is_script_first);

/// Returns the blame for an answer that lets no task start; the node's for a missing or
/// unexpected answer.
[[nodiscard]] Blame blame_of(const Answer& answer);

}  // namespace stage
