// Tests the keys that tell pushes apart.
#include "stager/control/push_key.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("two pushes have two keys, and no job") {
    const StageKey one = random_push_key();
    const StageKey other = random_push_key();
    CHECK(one.job_id == kPushJob);
    CHECK_FALSE(one == other);
    CHECK(one.step_id < 1U << 31U);
    CHECK(one.restart < 1U << 31U);
}
