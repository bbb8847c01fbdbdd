// Tests that the name of a cleanup list gives its owner and stage.
#include "stager/spawn/cleanup_lists.h"

#include "tests/unit/spawn/stage_root.h"

#include <catch2/catch.hpp>

#include <unistd.h>

namespace stage {
namespace {

using test::exists;

}  // namespace

TEST_CASE("a cleanup list's name says whose it is, and of which stage") {
    const CleanupListName step = cleanup_list_name(2001, 2002, {"42", "step.3"});
    CHECK(to_text(step) == "2001.2002.42.step.3");
    CHECK(parse_cleanup_list_name(to_text(step)) == step);
    CHECK(step.job_id() == 42);
    CHECK(step.is_of({"42"}));
    CHECK(step.is_of({"42", "step.3"}));
    CHECK_FALSE(step.is_of({"42", "step.33"}));
    CHECK_FALSE(step.is_of({"4"}));
    CHECK_FALSE(cleanup_list_name(2001, 2002, {"421"}).is_of({"42"}));
    CHECK_FALSE(cleanup_list_name(2001, 2002, {"42"}).is_of({"42", "step.3"}));
    CHECK(parse_cleanup_list_name("0.0.0"));
    for (const char* other : {"",
                              "42",
                              "1.2",
                              "left.42",
                              "1.2.3.4",
                              "1.2.3.step.",
                              "1.2.3.step.4x",
                              "01.2.3",
                              "-1.2.3",
                              "1.2.4294967296",
                              "1.2.3.",
                              "1.2.3.step.4.of.5"}) {
        INFO(other);
        CHECK_FALSE(parse_cleanup_list_name(other));
    }
}

TEST_CASE("the directory of the cleanup lists is there while a list is") {
    const test::StageRoot world;
    const CleanupListName one = cleanup_list_name(1, 1, {"42"});
    const CleanupListName two = cleanup_list_name(2, 1, {"43", "step.0"});
    for (const CleanupListName& name : {one, two}) {
        auto list = CleanupList::open(world.fd(), name);
        REQUIRE(list);
        REQUIRE(list->add({"U/x"}));
    }
    CHECK(cleanup_lists(world.fd()).size() == 2);
    CHECK(jobs_with_cleanup_lists(world.fd()) == std::set<std::uint32_t>{42, 43});
    struct stat status {};
    REQUIRE(::lstat((world.root() + "/.stagecast").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0700);
    REQUIRE(::lstat((world.root() + "/.stagecast/1.1.42").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0600);
    CHECK(status.st_uid == ::geteuid());
    remove_cleanup_list(world.fd(), one);
    CHECK(exists(world.root() + "/.stagecast"));
    remove_cleanup_list(world.fd(), two);
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
    CHECK(cleanup_lists(world.fd()).empty());
    CHECK_FALSE(open_cleanup_list(world.fd(), one));
}

}  // namespace stage
