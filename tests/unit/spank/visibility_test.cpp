// Tests that a task that sees another directory than the staged one is detected.
#include "spank/job/visibility.h"

#include "spank/host/names.h"
#include "spank/job/step_side.h"
#include "stager/control/client.h"
#include "tests/unit/scratch.h"
#include "tests/unit/spank/fake_daemon.h"
#include "tests/unit/spank/fake_host.h"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
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
    verdict.directories = {(top / "there").string(), (top / "absent").string()};
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

TEST_CASE("files hidden later by a container's plugin are no objection") {
    const Scratch scratch;
    const std::string there = scratch.directory("stage", 0700);
    FakeHost host{Context::remote};
    host.items = {{Item::job_id, 7}, {Item::step_id, 0}};
    host.job[kJobSign] = "1;-,/data/a,";
    FakeDaemon daemon;
    daemon.answer =
        Answer{Verdict{.state = VerdictState::ok, .stage_dir = there, .directories = {there}}};
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

TEST_CASE("outside and inside are distinguished by their root directories, links included") {
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
        visibility.capture_outside({});
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            ::mount(other.c_str(), there.c_str(), nullptr, MS_BIND, nullptr) != 0) {
            ::_exit(0);  // Not every user may.
        }
        ::_exit([&] {
            static_cast<void>(visibility.capture_inside());
            Verdict verdict;
            verdict.directories = {named};
            visibility.remember(verdict);
            if (!visibility.objection()) {
                return 1;
            }
            Visibility both;
            both.capture_outside({});
            static_cast<void>(both.capture_inside());
            both.remember(verdict);
            return both.objection() ? 2 : 0;
        }());
    }
}

namespace {

/// In a child: another directory comes to lie over `there`. False: not every user may.
bool hide(const std::string& other, const std::string& there, int also) {
    return ::unshare(CLONE_NEWNS | also) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
           ::mount(other.c_str(), there.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

/// What `work` gives in a child of its own, which may leave namespaces as it likes.
template <class Work>
int apart(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("the last look counts, but one from within a container that was entered meanwhile") {
    const Scratch scratch;
    const std::string there = scratch.directory("stage", 0755);
    const std::string other = scratch.directory("other", 0755);
    const bool is_container = GENERATE(false, true);
    CHECK(apart([&] {
              // Root in a user namespace of our own, in case that we are none.
              if (::unshare(CLONE_NEWUSER) != 0) {
                  return 0;
              }
              Verdict verdict;
              verdict.directories = {there};
              Visibility visibility;
              visibility.capture_outside({});
              visibility.remember(verdict);
              if (!visibility.capture_inside() || visibility.objection()) {
                  return 1;
              }
              if (!hide(other, there, is_container ? CLONE_NEWUSER : 0)) {
                  return 0;
              }
              const bool counts = visibility.capture_inside();
              return counts != is_container && visibility.objection().has_value() == counts ? 0
                                                                                            : 2;
          }) == 0);
}

TEST_CASE("outside is where the daemon listens, though all of Slurm's processes are inside") {
    const Scratch scratch;
    const std::string there = scratch.directory("stage", 0755);
    const std::string other = scratch.directory("other", 0755);
    const std::string path = scratch.path() + "/socket";
    const UniqueFd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(std::begin(address.sun_path), path.size());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket API's own way
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    REQUIRE(::bind(listener.get(), generic, sizeof address) == 0);
    REQUIRE(::listen(listener.get(), 4) == 0);
    CHECK(apart([&] {
              if (!hide(other, there, 0)) {
                  return 0;  // Root alone can see another process' root directory.
              }
              Verdict verdict;
              verdict.directories = {there};
              Visibility visibility;
              visibility.capture_outside(root_of_listener(path));
              visibility.remember(verdict);
              static_cast<void>(visibility.capture_inside());
              return visibility.objection() ? 0 : 1;
          }) == 0);
    CHECK_FALSE(root_of_listener(scratch.path() + "/nothing"));
}

}  // namespace stage
