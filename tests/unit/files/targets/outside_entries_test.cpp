// Tests which files of a stage the node's cleanup list is to know.
#include "stager/files/targets/outside_entries.h"

#include "stager/removal/cleanup_entry.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

namespace stage {

using test::Deeds;
using test::put_fake;
using Names = std::vector<std::string>;

TEST_CASE("only what lies outside of the stage's directory has entries") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(5);
    put_fake(targets, 0, "/stage/a", deeds);
    put_fake(targets, 1, "/stage/d/b", deeds);
    put_fake(targets, 2, "/stage2/c", deeds);
    put_fake(targets, 3, "/d/tree", deeds, {}, {.is_directory = true});
    put_fake(
        targets, 4, "/d/left", deeds, {.target = {}, .is_temporary = true}, {.is_left = true});
    const auto entries = entries_in_progress(targets);
    REQUIRE(entries);
    CHECK(*entries == Names{use_entry("/stage2/c"),
                            "/stage2/c.part",
                            use_entry("/d/tree"),
                            "/d/tree.part/",
                            use_entry("/d/left")});
    const auto named = entries_named(targets);
    REQUIRE(named);
    CHECK(named->empty());
}

TEST_CASE("a library's temporary name is marked as one") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(1);
    put_fake(targets, 0, "/d/lib", deeds, {.target = {}, .is_library = true});
    const auto entries = entries_in_progress(targets);
    REQUIRE(entries);
    CHECK(*entries == Names{use_entry("/d/lib"), library_entry("/d/lib.part")});
}

}  // namespace stage
