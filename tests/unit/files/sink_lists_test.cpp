// Is what a stage put outside of its directory found again to be removed, and nothing else?
#include "stager/files/removal.h"
#include "stager/files/stage_lists.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

using test::content_of;
using test::object_of;
using test::said;
using test::Scratch;
using test::Wish;
using Names = std::vector<std::string>;

std::size_t remove_what_is_listed(const Scratch& stage, const UsedPaths& used = {}) {
    const UniqueFd directory{::open(stage.path().c_str(), O_PATH | O_DIRECTORY)};
    return remove_listed(directory.get(), used).count;
}

}  // namespace

TEST_CASE("the lists say where the files are and what must go with them") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::vector<Wish> wishes{
        {.source = from.write("a", "aaa"), .root = stage.path(), .below = "a"},
        {.source = from.write("b", "bbb"),
         .root = outside.path(),
         .below = "b",
         .is_temporary = true},
        {.source = from.write("c", "ccc"), .root = outside.path(), .below = "c"}};
    const auto blocks = object_of(wishes);
    const std::string remove = stage.path(".stagecast/remove");
    FileSink sink{test::sink_config(wishes, stage.path())};
    REQUIRE(test::put(sink, 0, blocks[0]));
    // A worker that is killed now leaves what the list names.
    CHECK(content_of(remove) ==
          outside.path(".b.stagecast.42.0") + '\0' + outside.path(".c.stagecast.42.0") + '\0');
    REQUIRE(said(test::deliver(blocks, sink, 1)) == "ok");
    CHECK(content_of(stage.path(".stagecast/files")) ==
          stage.path("a") + '\0' + outside.path("b") + '\0' + outside.path("c") + '\0');
    CHECK(content_of(remove) == test::removal_there(outside.path("b")) + '\0');
    CHECK(test::removal_there(outside.path("b")) != outside.path("b"));
    CHECK(remove_what_is_listed(stage) == 1);
    CHECK(outside.names() == Names{"c"});
}

TEST_CASE("what took a file's place later, or what others use, is not removed with a stage") {
    const Scratch stage;
    const Scratch outside;
    const std::string file = outside.write("file", "x");
    const std::string used = outside.write("used", "x");
    outside.write("tree/a", "x");
    outside.write("libs/a", "x");
    REQUIRE(write_stage_list(stage.path(),
                             kRemoveList,
                             {test::removal_there(file),
                              test::removal_there(used),
                              test::removal_there(outside.path("tree/")),
                              test::removal_there(outside.path("libs/a"))}));
    // Renamed over it, as a stage with overwrite does, so that it is another from the start.
    outside.write("file.new", "another job's");
    REQUIRE(::rename(outside.path("file.new").c_str(), file.c_str()) == 0);
    CHECK(remove_what_is_listed(stage, {used, outside.path("tree"), outside.path("libs/")}) ==
          0);
    CHECK(outside.names() == Names{"file", "libs/a", "tree/a", "used"});
    // What somebody has in a tree keeps the tree.
    CHECK(remove_what_is_listed(stage, {used, outside.path("tree/a")}) == 1);
    CHECK(outside.names() == Names{"file", "tree/a", "used"});
    CHECK(remove_what_is_listed(stage, {"/"}) == 0);
    CHECK(remove_what_is_listed(stage, {used}) == 1);
    CHECK(outside.names() == Names{"file", "used"});
}

TEST_CASE("a directory of libraries goes with the last of them, one of that name is nobody's") {
    const Scratch stage;
    const Scratch outside;
    const std::string library = outside.write("prog_libs/liba.so", "x");
    const std::string begun = outside.write("prog_libs/.libb.so.stagecast.42.0", "x");
    const std::string own = outside.write("my_libs/file", "x");
    REQUIRE(write_stage_list(stage.path(),
                             kRemoveList,
                             {library_removal(test::removal_there(library)),
                              library_removal(begun),
                              test::removal_there(own)}));
    CHECK(remove_what_is_listed(stage) == 3);
    CHECK(::access(outside.path("prog_libs").c_str(), F_OK) != 0);
    CHECK(::access(outside.path("my_libs").c_str(), F_OK) == 0);
}

TEST_CASE("a tree loses its name before it is emptied, and one that broke off there is found") {
    const Scratch stage;
    const Scratch outside;
    outside.write("tree/a", "x");
    outside.write("tree/b", "x");
    REQUIRE(write_stage_list(
        stage.path(), kRemoveList, {test::removal_there(outside.path("tree/"))}));
    REQUIRE(::rename(outside.path("tree").c_str(),
                     outside.path(".tree.stagecast.going").c_str()) == 0);
    outside.write("tree/c", "another job's");
    CHECK(remove_what_is_listed(stage) == 1);
    CHECK(outside.names() == Names{"tree/c"});
}

TEST_CASE(
    "a step's list is followed, to directories only where it says so, by absolute names") {
    const Scratch stage;
    const Scratch outside;
    const std::string victim = outside.write("victim", "x");
    const std::string kept = outside.write("kept", "x");
    outside.write("tree/a/b/c", "x");
    REQUIRE(::mkdir(outside.path("directory").c_str(), 0700) == 0);
    REQUIRE(::mkdir(stage.path("step.3").c_str(), 0700) == 0);
    REQUIRE(write_stage_list(stage.path("step.3"),
                             kRemoveList,
                             {victim,
                              outside.path("directory"),
                              outside.path("tree/"),
                              outside.path("kept/"),
                              "kept",
                              "/",
                              outside.path("../"),
                              "",
                              outside.path("no")})
                .ok());
    // A list behind a link is none.
    stage.write("elsewhere/remove", kept + '\0');
    REQUIRE(::symlink("elsewhere", stage.path(".stagecast").c_str()) == 0);
    CHECK(remove_what_is_listed(stage) == 2);
    CHECK(outside.names() == Names{"kept"});
    CHECK(::access(outside.path("directory").c_str(), F_OK) == 0);
    CHECK(::access(outside.path("tree").c_str(), F_OK) != 0);
    CHECK_FALSE(write_stage_list(stage.path(), kFilesList, {"x"}).ok());
}

TEST_CASE("a temporary file that was there before the stage stays") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    const std::string source = from.write("b", "bbb");
    Wish wish{.source = source, .root = outside.path(), .below = "b", .is_temporary = true};
    SECTION("kept") {
        outside.write("b", "mine");
        wish.existing = Existing::keep;
    }
    SECTION("newer") {
        outside.write("b", "mine");
        wish.existing = Existing::newer;
    }
    SECTION("the same") {
        outside.write("b", "bbb");
        wish.existing = Existing::refuse;
    }
    const std::string before = content_of(outside.path("b"));
    FileSink sink{test::sink_config({wish}, stage.path())};
    REQUIRE(said(test::deliver(object_of({wish}), sink, 1)) == "ok");
    CHECK(content_of(stage.path(".stagecast/files")) == outside.path("b") + '\0');
    CHECK(::access(stage.path(".stagecast/remove").c_str(), F_OK) != 0);
    CHECK(remove_what_is_listed(stage) == 0);
    CHECK(content_of(outside.path("b")) == before);
}

TEST_CASE("of two temporary files one has its name and the other fails: the one goes") {
    const Scratch from;
    const Scratch stage;
    const Scratch outside;
    std::vector<Wish> wishes;
    for (const char* name : {"a", "b"}) {
        wishes.push_back({.source = from.write(name, name),
                          .root = outside.path(),
                          .below = name,
                          .existing = Existing::refuse,
                          .is_temporary = true});
    }
    const auto blocks = object_of(wishes);
    {
        FileSink sink{test::sink_config(wishes, stage.path())};
        for (std::uint32_t block = 0; block < blocks.size(); ++block) {
            REQUIRE(test::put(sink, block, blocks[block]));
        }
        outside.write("b", "somebody else's");
        CHECK_FALSE(sink.finish().ok());
        CHECK(outside.names() == Names{"a", "b"});
    }
    CHECK(remove_what_is_listed(stage) == 1);
    CHECK(outside.names() == Names{"b"});
}

TEST_CASE("what was added to a list counts, and a name that broke off does not") {
    const Scratch stage;
    const Scratch outside;
    const std::string one = outside.write("one", "x");
    const std::string two = outside.write("two", "x");
    outside.write("thr", "x");
    REQUIRE(add_to_stage_list(stage.path(), kRemoveList, one).ok());
    REQUIRE(add_to_stage_list(stage.path(), kRemoveList, two).ok());
    const std::string all = content_of(stage.path(".stagecast/remove"));
    CHECK(all == one + '\0' + two + '\0');
    stage.write(".stagecast/remove", all + outside.path("thr"));
    CHECK(remove_what_is_listed(stage) == 2);
    CHECK(outside.names() == Names{"thr"});
}

TEST_CASE("a temporary file that is its own source stays") {
    const Scratch place;
    const Scratch stage;
    const std::vector<Wish> wishes{{.source = place.write("a", "content"),
                                    .root = place.path(),
                                    .below = "a",
                                    .is_temporary = true}};
    auto source = FileSource::open(test::source_orders(wishes), 0);
    REQUIRE(source);
    const auto blocks = test::blocks_of(**source);
    REQUIRE(blocks);
    SinkConfig config = test::sink_config(wishes, stage.path());
    config.identity_of = [&](std::size_t index) { return (*source)->identity(index); };
    FileSink sink{std::move(config)};
    REQUIRE(said(test::deliver(*blocks, sink, 1)) == "ok");
    CHECK(remove_what_is_listed(stage) == 0);
    CHECK(content_of(place.path("a")) == "content");
}

}  // namespace stage
