#include "stager/control/push_key.h"

#include "transport/base/invariant.h"

#include <sys/random.h>

#include <array>

namespace stage {

StageKey random_push_key() {
    constexpr std::uint32_t kPlain = 0x7fffffffU;  // The highest values mean something else.
    std::array<std::uint32_t, 2> draw{};
    const auto count = ::getrandom(draw.data(), sizeof draw, 0);
    invariant(count == sizeof draw, "the kernel gives random bytes");
    return {.job_id = kPushJob, .step_id = draw[0] & kPlain, .restart = draw[1] & kPlain};
}

}  // namespace stage
