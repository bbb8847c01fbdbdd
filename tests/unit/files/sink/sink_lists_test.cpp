// Tests that files outside the stage's directory are listed before they are made, and removed.
// it?
#include "stager/removal/cleanup_entry.h"
#include "stager/removal/stage_lists.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

using test::content_of;
using test::follow_list;
using test::object_of;
using test::removal_there;
using test::said;
using test::Scratch;
using test::Spec;
using test::telling_config;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a sink lists the files that it begins, uses, and removes with the stage") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::vector<Spec> specs{
        {.source = from.write("a", "aaa"), .root = stage.path(), .below = "a"},
        {.source = from.write("b", "bbb"),
         .root = outside.path(),
         .below = "b",
         .is_temporary = true},
        {.source = from.write("c", "ccc"), .root = outside.path(), .below = "c"}};
    const auto blocks = object_of(specs);
    Names listed;
    FileSink sink{telling_config(specs, stage.path(), listed)};
    REQUIRE(test::put(sink, 0, blocks[0]));
    // A worker that is killed now leaves only listed files.
    CHECK(listed == Names{use_entry(outside.path("b")),
                          outside.path(".b.stagecast.42.0"),
                          use_entry(outside.path("c")),
                          outside.path(".c.stagecast.42.0")});
    REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    CHECK(content_of(stage.path(".stagecast/files")) ==
          stage.path("a") + '\0' + outside.path("b") + '\0' + outside.path("c") + '\0');
    REQUIRE(listed.size() == 5);
    CHECK(listed[4] == removal_there(outside.path("b")));
    CHECK(listed[4] != outside.path("b"));
    CHECK(follow_list(listed) == 1);
    CHECK(outside.names() == Names{"c"});
}

TEST_CASE("a file that the daemon can't list is not made") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::vector<Spec> specs{
        {.source = from.write("b", "bbb"), .root = outside.path(), .below = "b"}};
    SinkConfig config = test::sink_config(specs, stage.path());
    config.extend_cleanup_list = [](const Names&) {
        return Status{Error{Blame::node, "the daemon is gone"}};
    };
    FileSink sink{std::move(config)};
    CHECK(said(test::deliver(object_of(specs), sink, 1)) == "the daemon is gone");
    CHECK(outside.names().empty());
}

TEST_CASE("a temporary file that was there before the stage stays") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::string source = from.write("b", "bbb");
    Spec spec{.source = source, .root = outside.path(), .below = "b", .is_temporary = true};
    SECTION("kept") {
        outside.write("b", "mine");
        spec.existing = Existing::keep;
    }
    SECTION("newer") {
        outside.write("b", "mine");
        spec.existing = Existing::newer;
    }
    SECTION("the same") {
        outside.write("b", "bbb");
        spec.existing = Existing::refuse;
    }
    const std::string before = content_of(outside.path("b"));
    Names listed;
    FileSink sink{telling_config({spec}, stage.path(), listed)};
    REQUIRE(said(test::deliver(object_of({spec}), sink, 1)) == "ok");
    CHECK(content_of(stage.path(".stagecast/files")) == outside.path("b") + '\0');
    CHECK(listed == Names{use_entry(outside.path("b"))});
    CHECK(follow_list(listed) == 0);
    CHECK(content_of(outside.path("b")) == before);
}

TEST_CASE("if one of two temporary files fails, the other is removed") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    std::vector<Spec> specs;
    for (const char* name : {"a", "b"}) {
        specs.push_back({.source = from.write(name, name),
                         .root = outside.path(),
                         .below = name,
                         .existing = Existing::refuse,
                         .is_temporary = true});
    }
    const auto blocks = object_of(specs);
    Names listed;
    {
        FileSink sink{telling_config(specs, stage.path(), listed)};
        for (std::uint32_t block = 0; block < blocks.size(); ++block) {
            REQUIRE(test::put(sink, block, blocks[block]));
        }
        outside.write("b", "another user's");
        CHECK_FALSE(sink.finish().ok());
        CHECK(outside.names() == Names{"a", "b"});
    }
    CHECK(follow_list(listed) == 1);
    CHECK(outside.names() == Names{"b"});
}

TEST_CASE("a temporary file that is its own source stays") {
    const Scratch place;
    const Scratch stage;
    const std::vector<Spec> specs{{.source = place.write("a", "content"),
                                   .root = place.path(),
                                   .below = "a",
                                   .is_temporary = true}};
    auto source = FileSource::open(test::source_orders(specs), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    Names listed;
    SinkConfig config = telling_config(specs, stage.path(), listed);
    config.identity_of = [&](std::size_t index) { return (*source)->identity(index); };
    FileSink sink{std::move(config)};
    REQUIRE(said(test::deliver(*blocks, sink, 1)) == "ok");
    CHECK(follow_list(listed) == 0);
    CHECK(content_of(place.path("a")) == "content");
}

TEST_CASE("the list of files is not written through a link") {
    const Scratch stage;
    stage.write("elsewhere/files", "x");
    REQUIRE(::symlink("elsewhere", stage.path(".stagecast").c_str()) == 0);
    CHECK_FALSE(write_files_list(stage.path(), {"/x"}).ok());
    CHECK(content_of(stage.path("elsewhere/files")) == "x");
}

}  // namespace stage
