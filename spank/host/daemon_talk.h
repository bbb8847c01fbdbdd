// How do plugin and daemon talk about a job?
//
// Their patience with each other, the fields of a request, and what an answer means.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "stager/control/client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace stage {

/// The daemon's socket is on this node: what it does not take within this, it does not take.
inline constexpr Duration kConnectPatience = std::chrono::seconds{5};
/// The daemon decides within StageTimeout; it gets this much more to say so.
inline constexpr Duration kGrace = std::chrono::seconds{3};
/// A daemon that lives answers what needs no deliberation within this: a PING, an END, and a
/// QUERY, since no step begins before the prolog has returned, so with the verdict or without
/// one.
inline constexpr Duration kAnswerPatience = std::chrono::seconds{5};
inline constexpr CallPatience kShortTimeout{.connect = kConnectPatience,
                                            .answer = kAnswerPatience};
/// A restart of the daemon takes less; systemd's after a crash, RestartSec more.
inline constexpr Duration kRestart = std::chrono::seconds{5};
inline constexpr CallPatience kRetryDuringRestart{
    .connect = kConnectPatience, .answer = kAnswerPatience, .absent = kRestart};

/// Slurm 22.05 numbers the pseudo jobs of `srun -Z` from here (NOALLOC job ids). They have a
/// prolog but no epilog (measured), so nobody would clean up.
inline constexpr std::uint32_t kFirstPseudoJob = 0xffff0000U;
/// As Slurm knows this node; empty if it does not say.
[[nodiscard]] std::string node_name(const SpankHandle& handle);

/// For a STAGE, whose verdict may take as long as the site allows.
[[nodiscard]] CallPatience patience_of(const Site& site);

/// 0 for what is no number.
[[nodiscard]] std::uint32_t number_of(const std::optional<std::string>& text);

/// A field that does not fit its message is left out: the daemon, which must refuse the stage
/// and remember why, then finds it empty.
[[nodiscard]] StageRequest bounded(StageRequest request);

[[nodiscard]] bool is_unknown(const Answer& answer);

/// The sentence of an answer that lets no task start, or nothing.
/// `is_script_first`: as the site says (StageFrom), where the answer is_unknown().
[[nodiscard]] std::optional<std::string> objection(const Answer& answer, bool is_script_first);

/// Who is to blame for an answer that lets no task start. For no answer, or one without sense,
/// that is the node.
[[nodiscard]] Blame blame_of(const Answer& answer);

}  // namespace stage
