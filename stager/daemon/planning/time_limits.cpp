#include "stager/daemon/planning/time_limits.h"

#include "stager/config/value.h"
#include "stager/daemon/tree/tree.h"
#include "stager/messages/stage_traits.h"

#include <algorithm>

namespace stage {
namespace {

bool is_less(Duration wanted, Duration most) {
    return wanted > Duration::zero() && wanted < most;
}

/// The site's limit. slurmstepd itself waits for what a step's container is made of, before it
/// says that tasks begin, and srun ends a step that does not say so within ten minutes
/// (slurm_step_launch_wait_start()), without a message of stagecast.
Duration longest(const Config& config, const StageKey& key, const StageOptions& options) {
    constexpr std::chrono::seconds kStepLaunch{570};
    const bool is_before_tasks = key.step_id != kWholeJob && options.has_container;
    return is_before_tasks ? std::min<Duration>(config.stage_timeout, kStepLaunch)
                           : config.stage_timeout;
}

StageLimits push_limits(const StageOptions& options) {
    constexpr Duration kSlack = std::chrono::hours{1};  // Nothing else ends while a push waits.
    const Duration time =
        std::chrono::seconds{options.timeout_s == 0 ? kMaxStageTimeoutS : options.timeout_s};
    return {.time = time,
            .ends = time_limits(time, time + kSlack),
            .blame = Blame::node,
            .words = "--timeout=" + seconds_text(time)};
}

}  // namespace

TimeLimits time_limits(Duration wanted, Duration most) {
    constexpr Duration kCushion = std::chrono::seconds{2};
    const Duration time = is_less(wanted, most) ? wanted : most;
    const Duration cushion = std::min<Duration>(kCushion, time / 8);
    return {.work = std::min<Duration>(time, most - 2 * cushion),
            .verdict = std::min<Duration>(time + cushion, most - cushion)};
}

Duration silence_max(const Config& config) {
    constexpr Duration kLeast = std::chrono::seconds{3};  // A few pulses.
    return std::max<Duration>(2 * config.stall_timeout, kLeast);
}

bool is_wanted_limit(Duration wanted, Duration most) {
    return is_less(wanted, most) && time_limits(wanted, most).work == wanted;
}

std::string time_limit_words(Duration wanted, Duration most, const std::string& name) {
    const Duration work = time_limits(wanted, most).work;
    return is_wanted_limit(wanted, most)
               ? "--stage-timeout=" + write_seconds(wanted) + " s"
               : name + ", less " + write_seconds(most - work) + " s for the nodes to agree";
}

StageLimits stage_limits(const Config& config,
                         const StageKey& key,
                         const StageOptions& options) {
    if (!traits_of(key).has_job) {
        return push_limits(options);
    }
    const Duration most = longest(config, key, options);
    const Duration asked = std::chrono::seconds{options.timeout_s};
    const Duration time = options.timeout_s == 0 ? most : std::min(most, asked);
    const std::string name = most == config.stage_timeout
                                 ? "StageTimeout=" + seconds_text(most)
                                 : "the " + seconds_text(most) +
                                       " that srun leaves a step with a container to begin";
    return {.time = time,
            .ends = time_limits(time, most),
            .blame = is_wanted_limit(time, most) ? Blame::user : Blame::node,
            .words = time_limit_words(time, most, name)};
}

Duration setup_max(const Config& config, std::size_t rank, std::size_t nodes) {
    constexpr Duration kTurn = std::chrono::milliseconds{1};
    const Tree tree{nodes, config.tree_width};
    const auto depth = tree.depth(Rank{static_cast<Rank::rep>(rank)});
    return config.announce_timeout + config.connect_timeout * static_cast<std::int64_t>(depth) +
           kTurn * rank;
}

std::string seconds_text(Duration duration) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) +
           " s";
}

}  // namespace stage
