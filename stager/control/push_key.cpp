#include "stager/control/push_key.h"

#include "transport/base/random_value.h"

#include <array>

namespace stage {

StageKey random_push_key() {
    constexpr std::uint32_t kPlain = 0x7fffffffU;  // The highest values are reserved.
    const auto draw = random_value<std::array<std::uint32_t, 2>>();
    return {.job_id = kPushJob, .step_id = draw[0] & kPlain, .restart = draw[1] & kPlain};
}

StageKey preflight_key() {
    return {.job_id = kPushJob};
}

}  // namespace stage
