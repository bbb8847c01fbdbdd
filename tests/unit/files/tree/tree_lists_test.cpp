// Tests the entries of a staged tree in the stage's lists.
#include "stager/removal/cleanup_entry.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::object_of;
using test::said;
using test::Scratch;
using test::Spec;
using Names = std::vector<std::string>;

/// A tree with a file of 2.5 blocks between small ones.
void write_some(const Scratch& from) {
    from.write("t/a/small", "small");
    from.write("t/b/long", test::noise(5 * kBlockBytes / 2));
    from.write("t/c/last", "last");
}

}  // namespace

TEST_CASE("no other destination of the stage may lie in a tree") {
    const Scratch from;
    const Scratch to;
    write_some(from);
    CHECK_THAT(said(test::stage_all(
                   {{.source = from.path("t"), .root = to.path(), .below = "t"},
                    {.source = from.path("t/a/small"), .root = to.path(), .below = "t/x"}})),
               Contains("t/x: lies in a directory that is staged, too"));
    CHECK(to.names().empty());
}

TEST_CASE("lists name a tree by its top, and remove it at the end") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    write_some(from);
    const std::vector<Spec> specs{{.source = from.path("t"),
                                   .root = outside.path(),
                                   .below = "t",
                                   .existing = Existing::refuse,
                                   .is_temporary = true}};
    const auto blocks = object_of(specs);
    Names listed;
    {
        FileSink sink{test::telling_config(specs, stage.path(), listed)};
        REQUIRE(test::put(sink, 0, blocks[0]));
        CHECK(listed ==
              Names{use_entry(outside.path("t")), outside.path(".t.stagecast.42.0/")});
        REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    }
    REQUIRE(listed.size() == 3);
    CHECK(listed[2] == test::removal_there(outside.path("t/")));
    CHECK(content_of(stage.path(".stagecast/files")) == outside.path("t") + '\0');
    CHECK(test::follow_list(listed) == 1);
    CHECK(::access(outside.path("t").c_str(), F_OK) != 0);

    outside.write("t/mine", "x");
    listed.clear();
    std::vector<Spec> kept = specs;
    kept[0].existing = Existing::keep;
    FileSink sink{test::telling_config(kept, stage.path(), listed)};
    REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    CHECK(listed == Names{use_entry(outside.path("t"))});  // It was there before: it stays.
    CHECK(outside.names() == Names{"t/mine"});
}

TEST_CASE("an existing directory that is removed during the stage is reported") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    write_some(from);
    const std::vector<Spec> specs{{.source = from.path("t"),
                                   .root = outside.path(),
                                   .below = "t",
                                   .existing = Existing::keep}};
    const auto blocks = object_of(specs);
    const std::string mine = outside.write("t/mine", "x");
    FileSink sink{test::sink_config(specs, stage.path())};
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
        REQUIRE(test::put(sink, block, blocks[block]));
    }
    REQUIRE(::unlink(mine.c_str()) == 0);
    REQUIRE(::rmdir(outside.path("t").c_str()) == 0);
    CHECK_THAT(sink.finish().error().sentence(),
               Catch::Matchers::Contains("/t: was removed or replaced while it was staged"));
}

}  // namespace stage
