// Is it noticed when a task looks into another directory than the one that was staged into?
#include "spank/visibility.h"

#include "spank/names.h"
#include "spank/step_side.h"
#include "tests/unit/scratch.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/fake_host.h"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace stage {

TEST_CASE(
    "a directory that is another one in the task is an objection, an unknown one is not") {
    const Scratch scratch;
    const std::filesystem::path top = scratch.path();
    std::filesystem::create_directory(top / "there");
    Verdict verdict;
    verdict.paths = {(top / "there" / "file").string(), (top / "absent" / "file").string(), ""};
    Visibility visibility;
    CHECK_FALSE(visibility.objection());
    visibility.remember(verdict);
    CHECK_FALSE(visibility.objection());

    std::filesystem::create_directory(top / "absent");
    CHECK_FALSE(visibility.objection());

    std::filesystem::create_directory(top / "other");
    std::filesystem::rename(top / "there", top / "before");
    REQUIRE(visibility.objection());
    CHECK_THAT(*visibility.objection(), Catch::StartsWith((top / "there").string() + ": "));
    std::filesystem::rename(top / "other", top / "there");
    CHECK_THAT(visibility.objection().value_or(""), Catch::Contains("$STAGECAST_DIR"));
}

TEST_CASE("what a container's plugin hides after the look is no objection") {
    const Scratch scratch;
    const std::string there = scratch.directory("stage", 0700);
    FakeHost host{Context::remote};
    host.items = {{Item::job_id, 7}, {Item::step_id, 0}};
    host.job[kJobSign] = "1;-,/data/a,";
    FakeDaemon daemon;
    daemon.answer =
        Answer{Verdict{.state = VerdictState::ok, .stage_dir = there, .paths = {there + "/a"}}};
    StepSide side{{}, daemon.ask(), daemon.begin()};
    side.on_step_begins(host);
    const auto hide = [&] {
        std::filesystem::rename(there, there + ".before");
        static_cast<void>(scratch.directory("stage", 0700));
    };
    const bool is_hidden_before = GENERATE(true, false);
    if (is_hidden_before) {
        hide();
    }
    side.look_around();
    if (!is_hidden_before) {
        hide();
    }
    CHECK(side.may_start(host) != is_hidden_before);
}

TEST_CASE("outside and inside are told apart by their root directories, links and all") {
    const Scratch scratch;
    const std::string there = scratch.directory("stage", 0755);
    const std::string link = there + "-link";
    REQUIRE(::symlink(there.c_str(), link.c_str()) == 0);
    const std::string other = scratch.directory("other", 0755);
    for (const std::string& named : {there, link}) {
        const pid_t task = ::fork();
        if (task != 0) {
            int status = 0;
            REQUIRE(::waitpid(task, &status, 0) == task);
            CHECK(WEXITSTATUS(status) == 0);
            continue;
        }
        // Root in a user namespace of our own, where another directory lies over the staged
        // one.
        Visibility visibility;
        visibility.is_outside();
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            ::mount(other.c_str(), there.c_str(), nullptr, MS_BIND, nullptr) != 0) {
            ::_exit(0);  // Not everybody may.
        }
        ::_exit([&] {
            visibility.is_inside();
            Verdict verdict;
            verdict.paths = {named + "/file"};
            visibility.remember(verdict);
            if (!visibility.objection()) {
                return 1;
            }
            Visibility both;
            both.is_outside();
            both.is_inside();
            both.remember(verdict);
            return both.objection() ? 2 : 0;
        }());
    }
}

}  // namespace stage
