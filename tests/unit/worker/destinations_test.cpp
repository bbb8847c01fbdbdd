// Tests that two files with one destination are reported with their lines.
#include "stager/worker/requests/destinations.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("an equal spec is accepted once, a different one is an error") {
    Destinations taken;
    const StageSpec spec{.source = "/in/a"};
    CHECK(*taken.take("/s/a", spec, ""));
    CHECK_FALSE(*taken.take("/s/a", spec, line_of("/list", 2)));
    CHECK_FALSE(*taken.take("/s/a", {.source = "/in/./a", .destination = "a"}, ""));
    CHECK(*taken.take("/s/b", spec, ""));
    const auto other = taken.take("/s/a", {.source = "/in/b"}, line_of("/list", 3));
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().sentence(),
               Catch::StartsWith("'/in/a' and '/in/b' (/list, line 3) have one destination, "));
    CHECK_FALSE(taken.take("/s/a", {.source = "/in/a", .is_temporary = true}, "").ok());
    CHECK(taken.check_nesting());
}

TEST_CASE("a destination inside another one is an error") {
    Destinations taken;
    CHECK(*taken.take("/s/a", {.source = "/in/a"}, line_of("/list", 1)));
    CHECK(*taken.take("/s/ab/c", {.source = "/in/c"}, line_of("/list", 2)));
    CHECK(taken.check_nesting());
    CHECK(*taken.take("/s/a/b/c", {.source = "/in/d"}, line_of("/list", 7)));
    const Status apart = taken.check_nesting();
    REQUIRE_FALSE(apart);
    CHECK_THAT(apart.error().sentence(),
               Catch::Contains("'/in/a' (/list, line 1) and '/in/d' (/list, line 7) exclude"));
}
