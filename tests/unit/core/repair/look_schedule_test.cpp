// Tests when a receiver looks for missing chunks.
#include "transport/core/repair/look_schedule.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("looks are spaced, unless something happened") {
    LookSchedule looks;
    CHECK_FALSE(looks.deadline());
    looks.look(kStart);
    CHECK(looks.begin(kStart, milliseconds{1}));
    CHECK_FALSE(looks.deadline());
    looks.look(kStart);
    CHECK(looks.deadline() == kStart + milliseconds{1});
    CHECK_FALSE(looks.begin(kStart, milliseconds{1}));
    looks.look_at_once(kStart);
    CHECK(looks.deadline() == kStart);
    CHECK(looks.begin(kStart, milliseconds{1}));
}

TEST_CASE("a look without room waits for tokens or for an answer") {
    LookSchedule looks;
    REQUIRE(looks.begin(kStart, milliseconds{1}));
    looks.look(kStart + seconds{1});  // a block that pauses
    CHECK_FALSE(looks.has_no_room(kStart));
    looks.look(kStart);
    CHECK(looks.has_no_room(kStart));
    looks.wait_until(kStart + milliseconds{5});
    CHECK(looks.deadline() == kStart + milliseconds{5});
    CHECK_FALSE(looks.begin(kStart + milliseconds{4}, milliseconds{1}));
    looks.wait_for_answers();
    CHECK_FALSE(looks.deadline());
}
