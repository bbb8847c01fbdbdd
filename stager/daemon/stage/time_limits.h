// Computes when a stage must be done, from what the site, the job and its step allow.
//
// Before its own end each node reports what it lacks, and a moment later the root draws the
// verdict, which all nodes have to hear before their prologs stop waiting. Where a job wants
// less than the site allows it has all of what it wants.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/spec/spec_list.h"
#include "transport/base/units.h"

#include <string>

namespace stage {

struct TimeLimits {
    Duration work{};     ///< From the announcement until a node gives up.
    Duration verdict{};  ///< Until the root does.

    bool operator==(const TimeLimits&) const = default;
};

/// `wanted`: 0 if the job leaves it to the site. `most`: the site's, when all must have heard.
[[nodiscard]] TimeLimits time_limits(Duration wanted, Duration most);

/// How long another daemon may say nothing, or acknowledge nothing, before it is given up.
/// Twice StallTimeout: TCP doubles the time between its attempts, so that after an outage of
/// less than StallTimeout it may be silent for as long again.
[[nodiscard]] Duration silence_max(const Config& config);

/// Whether the work ends by what the job wants, and not by the site's limit.
[[nodiscard]] bool is_wanted_limit(Duration wanted, Duration most);

/// Of what the work was not done within: "--stage-timeout=5 s", or "StageTimeout=600 s, less 4
/// s for the nodes to agree". `name`: of the site's limit, as "StageTimeout=600 s".
[[nodiscard]] std::string time_limit_words(Duration wanted,
                                           Duration most,
                                           const std::string& name);

/// The limits of one stage.
struct StageLimits {
    Duration time{};            ///< What the job wants, at most what the site allows.
    TimeLimits ends;            ///< Both from the announcement.
    Blame blame = Blame::node;  ///< Of a stage that is late: the user's, if `time` is a wish.
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
