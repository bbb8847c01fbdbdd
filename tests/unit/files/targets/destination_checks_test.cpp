// Tests the checks that all destinations of a stage undergo together.
#include "stager/files/targets/destination_checks.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

namespace stage {

using Catch::Matchers::Contains;
using test::Deeds;
using test::put_fake;
using test::said;

TEST_CASE("nothing may be staged below a directory that is staged") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(targets, 0, "/d/t", deeds, {}, {.is_directory = true});
    put_fake(targets, 1, "/d/t-2", deeds);
    CHECK(said(check_nesting(targets)) == "ok");
    targets.resize(3);
    put_fake(targets, 2, "/d/t/a", deeds);
    CHECK_THAT(said(check_nesting(targets)), Contains("/d/t/a: lies in a directory"));
}

TEST_CASE("a path that a program needs is on the node, or comes to it") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(targets, 0, "/d/p", deeds, {.target = {}, .needed_paths = {"/", "/d/no/lib"}});
    put_fake(targets, 1, "/d/no/lib", deeds);
    CHECK(said(check_needed_paths(targets)) == "ok");
    targets.resize(3);
    put_fake(targets, 2, "/d/q", deeds, {.target = {}, .needed_paths = {"/d/no/other"}});
    CHECK_THAT(said(check_needed_paths(targets)),
               Contains("/d/q: the program needs /d/no/other at this very path"));
}

TEST_CASE("an optional file gets the room that later files leave") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(targets,
             0,
             "/d/optional",
             deeds,
             {.target = {}, .is_optional = true},
             {.needs = {.bytes = 6}, .free_bytes = 10});
    put_fake(targets, 1, "/d/b", deeds, {}, {.needs = {.bytes = 5}, .free_bytes = 10});
    CHECK(said(check_room(targets)) == "ok");
    CHECK(targets.path(0).empty());
    CHECK(targets.path(1) == "/d/b");
    CHECK(targets.warnings().size() == 1);
}

}  // namespace stage
