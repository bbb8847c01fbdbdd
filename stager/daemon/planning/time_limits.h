// Computes when a stage must be done on a node, and when the root must decide.
//
// Before its own deadline each node reports what it lacks, and a moment later the root decides
// the verdict, which must reach all nodes before their prologs stop waiting. A job that asks
// for less time than the site allows has the whole time that it asks for.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/spec/spec_list.h"
#include "transport/base/units.h"

#include <string>

namespace stage {

struct TimeLimits {
    Duration work{};     ///< From the announcement until a node gives up.
    Duration verdict{};  ///< Until the root gives up.

    bool operator==(const TimeLimits&) const = default;
};

/// `wanted`: 0 if the job sets no limit. `most`: the site's, by which all nodes must know.
[[nodiscard]] TimeLimits time_limits(Duration wanted, Duration most);

/// How long another daemon may send or acknowledge nothing before it counts as lost. It is
/// twice StallTimeout: TCP doubles the time between its retries, so that after an outage of
/// less than StallTimeout it may be silent for as long again.
[[nodiscard]] Duration silence_max(const Config& config);

/// Whether the job's limit applies, and not the site's.
[[nodiscard]] bool is_wanted_limit(Duration wanted, Duration most);

/// Names the limit in a message: "--stage-timeout=5 s", or "StageTimeout=600 s, less 4 s for
/// the nodes to agree". `name`: the site's limit, as "StageTimeout=600 s".
[[nodiscard]] std::string time_limit_words(Duration wanted,
                                           Duration most,
                                           const std::string& name);

/// The limits of one stage.
struct StageLimits {
    Duration time{};            ///< What the job wants, at most what the site allows.
    TimeLimits ends;            ///< Both from the announcement.
    Blame blame = Blame::node;  ///< The party to blame if late; user: the user chose `time`.
    std::string words;          ///< What a late stage was not done within.
};

/// A push has no prolog that waits for it; its time is --timeout alone. A step with a container
/// has at most as long as srun waits for it.
[[nodiscard]] StageLimits stage_limits(const Config& config,
                                       const StageKey& key,
                                       const StageOptions& options);

/// How long the node of `rank`, one of `nodes`, waits for a SETUP after its announcement. Each
/// rank waits a little longer than the one before: where no SETUP comes, not all nodes ask in
/// one moment.
[[nodiscard]] Duration setup_max(const Config& config, std::size_t rank, std::size_t nodes);

/// "600 s"
[[nodiscard]] std::string seconds_text(Duration duration);

}  // namespace stage
