#include "stager/daemon/stage/time_limits.h"

#include "stager/config/value.h"

#include <algorithm>

namespace stage {
namespace {

bool is_less(Duration wanted, Duration most) {
    return wanted > Duration::zero() && wanted < most;
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

}  // namespace stage
