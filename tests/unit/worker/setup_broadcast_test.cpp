// Does SETUP determine the policies of a broadcast?
#include "stager/worker/staging/setup_broadcast.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a source drops failed receivers only if SETUP says so") {
    WorkerSetup setup;
    setup.nodes = {"n0"};
    CHECK_FALSE(member_plan(setup)->broadcast.drops_failed);
    setup.drops_failed = true;
    CHECK(member_plan(setup)->broadcast.drops_failed);
}

TEST_CASE("a member's plan has its place in the group, and the group's address from SETUP") {
    WorkerSetup setup;
    setup.nodes = {"n0", "n1", "n2"};
    setup.rank = Rank{2};
    setup.source = Rank{1};
    setup.group_address = "239.77.203.9";
    setup.group_port = 41'996;
    const auto plan = member_plan(setup);
    REQUIRE(plan);
    CHECK(plan->own == Rank{2});
    CHECK(plan->node == "n2");
    CHECK(plan->members == 3);
    CHECK_FALSE(plan->is_source);
    CHECK(plan->group(1, 1) == *Address::parse("239.77.203.9", 41'996));
    CHECK(plan->session == setup.session);
    setup.group_address = "nowhere";
    CHECK_FALSE(member_plan(setup));
}
