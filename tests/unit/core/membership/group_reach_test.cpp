#include "transport/core/membership/group_reach.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;
using Step = GroupReach::Step;

namespace {

GroupReach reach_of_default() {
    CoreConfig config = config_of(1, 9);
    config.stall_timeout = std::chrono::seconds{30};
    return GroupReach{config, EndingLimits{}};
}

}  // namespace

TEST_CASE("a member that hears no multicast asks, and is unreachable if that is answered") {
    GroupReach reach = reach_of_default();
    reach.on_group(kStart);
    CHECK(reach.deadline() == kStart + milliseconds{500});
    CHECK(reach.look(kStart + milliseconds{499}) == Step::none);
    CHECK(reach.look(kStart + milliseconds{500}) == Step::ask);
    CHECK(reach.look(kStart + seconds{60}) == Step::none);  // No source is there yet.
    CHECK_FALSE(reach.deadline());
    reach.on_alone(kStart + seconds{60});
    reach.on_alone(kStart + seconds{60} + milliseconds{200});  // The first one counts.
    CHECK(reach.look(kStart + seconds{60} + milliseconds{374}) == Step::none);
    CHECK(reach.look(kStart + seconds{60} + milliseconds{375}) == Step::unreachable);
    CHECK(reach.look(kStart + seconds{90}) == Step::none);
    CHECK_FALSE(reach.take_return());
    reach.on_group(kStart + seconds{90});
    CHECK(reach.take_return());
    CHECK_FALSE(reach.take_return());
}

TEST_CASE(
    "an answer before it was asked for, or something by the group after it, is no proof") {
    GroupReach reach = reach_of_default();
    reach.on_group(kStart);
    reach.on_alone(kStart + milliseconds{100});
    CHECK(reach.look(kStart + milliseconds{499}) == Step::none);
    CHECK(reach.look(kStart + milliseconds{500}) == Step::ask);
    reach.on_alone(kStart + milliseconds{501});
    reach.on_group(kStart + milliseconds{600});
    CHECK_FALSE(reach.take_return());  // It was not unreachable.
    CHECK(reach.look(kStart + milliseconds{1000}) == Step::none);
    CHECK(reach.deadline() == kStart + milliseconds{1100});
}

TEST_CASE("where the group was heard before it takes more packets to prove the contrary") {
    GroupReach reach = reach_of_default();
    reach.begin();
    reach.on_group(kStart);
    CHECK(reach.look(kStart + milliseconds{499}) == Step::none);
    CHECK(reach.look(kStart + milliseconds{500}) == Step::ask);
    reach.on_alone(kStart + milliseconds{500});
    CHECK(reach.look(kStart + milliseconds{1499}) == Step::none);
    CHECK(reach.look(kStart + milliseconds{1500}) == Step::unreachable);
}
