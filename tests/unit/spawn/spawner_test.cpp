// Tests that children run as the right user with the right descriptors, and that their ends
// are reported.
#include "stager/spawn/spawner.h"

#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

using namespace stage;
using Kind = SpawnEvent::Kind;

namespace {

/// Runs `script` to its end and gives what it wrote to descriptor 3.
std::string output_of(SpawnWorld& world, const ProgramRequest& program) {
    Pipe pipe;
    REQUIRE(world.spawner().start(program, {pipe.in.get()}));
    pipe.in.reset();
    world.next(Kind::started);
    const std::string text = read_all(pipe.out.get());
    const SpawnEvent ended = world.next(Kind::ended);
    CHECK(ended.status_text() == "exit status 0");
    return text;
}

}  // namespace

TEST_CASE("a worker is its user, with all groups and no way back", "[root]") {
    if (!is_root()) {
        return;
    }
    SpawnWorld world;
    ProgramRequest program = SpawnWorld::shell(
        "{ id -u; id -g; id -G; umask; pwd; grep NoNewPrivs /proc/self/status; ulimit -c; "
        "grep SigBlk /proc/self/status; cat /proc/self/oom_score_adj; } >&3");
    program.umask = 027;
    program.oom_score_adj = 500;

    SECTION("of a user that passwd knows") {
        program.user = UserIdentity{.uid = 65534, .gid = 65534, .name = "nobody"};
        CHECK(output_of(world, program) ==
              "65534\n65534\n65534\n0027\n/"
              "\nNoNewPrivs:\t1\n0\nSigBlk:\t0000000000000000\n500\n");
    }
    SECTION("with another group than passwd's, as newgrp and sbatch --gid give: it has both") {
        program.user = UserIdentity{.uid = 65534, .gid = 61'235, .name = {}};
        CHECK_THAT(output_of(world, program), Catch::StartsWith("65534\n61235\n61235 65534\n"));
    }
    SECTION("with another user's name: that user's groups are not given") {
        program.user = UserIdentity{.uid = kUnknownUid, .gid = 61'235, .name = "root"};
        CHECK_THAT(output_of(world, program), Catch::StartsWith("61234\n61235\n61235\n"));
    }
    SECTION("without a group: passwd's") {
        program.user = UserIdentity{.uid = 65534, .name = {}};
        CHECK_THAT(output_of(world, program), Catch::StartsWith("65534\n65534\n65534\n"));
    }
    SECTION("of a uid that is not in passwd: its gid alone") {
        program.user = UserIdentity{.uid = kUnknownUid, .gid = 61'235, .name = {}};
        CHECK(output_of(world, program) ==
              "61234\n61235\n61235\n0027\n/"
              "\nNoNewPrivs:\t1\n0\nSigBlk:\t0000000000000000\n500\n");
    }
}

TEST_CASE("a child has its descriptors and its environment, and nothing else") {
    SpawnWorld world;
    // Descriptors that only the test has must not be there.
    const UniqueFd stray{::open("/etc/passwd", O_RDONLY)};
    SECTION("descriptors") {
        Pipe third;
        Pipe fourth;
        // 5 is what ls looks with.
        const ProgramRequest program =
            SpawnWorld::shell("echo four >&4; exec ls -x /proc/self/fd >&3");
        REQUIRE(world.spawner().start(program, {third.in.get(), fourth.in.get()}));
        third.in.reset();
        fourth.in.reset();
        world.next(Kind::started);
        CHECK(read_all(fourth.out.get()) == "four\n");
        CHECK(read_all(third.out.get()) == "0  1  2  3  4  5\n");
        world.next(Kind::ended);
    }
    SECTION("environment, stdin, session") {
        ProgramRequest program = SpawnWorld::shell(
            "{ readlink /proc/$$/fd/0; tr '\\0' ' ' </proc/$$/environ; "
            "read -r pid name state parent group session rest </proc/$$/stat; "
            "[ $session = $$ ] && [ $group = $$ ] && echo leader; } >&3");
        program.environment = {"PATH=/usr/bin:/bin", "A=b c"};
        CHECK(output_of(world, program) == "/dev/null\nPATH=/usr/bin:/bin A=b c leader\n");
    }
}

TEST_CASE("a child's stdout and stderr are what was given last, else nothing") {
    SpawnWorld world;
    Pipe pipe;
    ProgramRequest program = SpawnWorld::shell(
        "echo out; echo err >&2; is=$(readlink /proc/$$/fd/1); echo \"$is\" >&3");
    SECTION("given") {
        Pipe third;
        program.has_output = true;
        REQUIRE(world.spawner().start(program, {third.in.get(), pipe.in.get()}));
        pipe.in.reset();
        third.in.reset();
        CHECK(read_all(pipe.out.get()) == "out\nerr\n");
        CHECK_THAT(read_all(third.out.get()), Catch::StartsWith("pipe:"));
    }
    SECTION("not given: not the parent's") {
        CHECK(output_of(world, program) == "/dev/null\n");
    }
}

TEST_CASE("a program that can't be executed is reported with the reason, and never started") {
    SpawnWorld world;
    ProgramRequest program = SpawnWorld::shell("");
    program.path = "/nonexistent/stagecast-worker";
    const auto id = world.spawner().start(program, {});
    REQUIRE(id);
    const SpawnEvent failed = world.next(Kind::failed);
    CHECK(failed.id == *id);
    CHECK(failed.sentence ==
          "executing /nonexistent/stagecast-worker: No such file or directory");
}

TEST_CASE("an end is reported with its status") {
    SpawnWorld world;
    REQUIRE(world.spawner().start(SpawnWorld::shell("exit 7"), {}));
    const SpawnEvent started = world.next(Kind::started);
    const SpawnEvent ended = world.next(Kind::ended);
    CHECK(ended.pid == started.pid);
    CHECK(ended.id == started.id);
    CHECK(ended.status_text() == "exit status 7");
}

TEST_CASE("kill reaches the whole group of a child, and no other process") {
    SpawnWorld world;
    Pipe pipe;
    // The pipe ends when the shell and what it has started are both gone.
    REQUIRE(world.spawner().start(
        SpawnWorld::shell("cat /dev/zero >/dev/null & echo up >&3; wait"), {pipe.in.get()}));
    pipe.in.reset();
    const SpawnEvent started = world.next(Kind::started);
    REQUIRE(wait_readable(pipe.out.get()));

    const pid_t unrelated = ::fork();
    if (unrelated == 0) {
        ::pause();
        ::_exit(0);
    }
    REQUIRE(world.spawner().kill(unrelated, SIGKILL));
    REQUIRE(world.spawner().kill(started.pid, SIGKILL));
    CHECK(world.next(Kind::ended).status_text() == "killed by SIGKILL");
    CHECK(read_all(pipe.out.get()) == "up\n");
    CHECK(::waitpid(unrelated, nullptr, WNOHANG) == 0);
    ::kill(unrelated, SIGKILL);
    ::waitpid(unrelated, nullptr, 0);
}

TEST_CASE("a child's orphans in sessions of their own are killed at its end") {
    SpawnWorld world;
    Pipe pipe;
    // Twice removed and in other sessions; the pipe ends when all of them are gone.
    REQUIRE(world.spawner().start(
        SpawnWorld::shell("setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up >&3"),
        {pipe.in.get()}));
    pipe.in.reset();
    world.next(Kind::started);
    CHECK(world.next(Kind::ended).status_text() == "exit status 0");
    CHECK(read_all(pipe.out.get()) == "up\n");
}

TEST_CASE("a program's limits are its own, not the daemon's") {
    SpawnWorld world;
    constexpr rlim_t kLockedMax = 256U << 20U;
    rlimit own{};
    REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &own) == 0);
    CHECK(
        output_of(world, SpawnWorld::shell("{ ulimit -H -l; ulimit -c; ulimit -H -d; } >&3")) ==
        std::to_string(std::min(own.rlim_max, kLockedMax) / 1024) + "\n0\n1572864\n");
}

TEST_CASE("a role runs without exec, on its own end of a socket pair") {
    const SpawnRole echo = [](int fd) {
        char letter = 0;
        return ::read(fd, &letter, 1) == 1 && ::write(fd, &letter, 1) == 1 && fd == 3 ? 9 : 1;
    };
    SpawnWorld world{{echo}};
    const auto role = world.spawner().start_role(0, SOCK_SEQPACKET);
    REQUIRE(role);
    world.next(Kind::started);
    REQUIRE(::write(role->socket.get(), "x", 1) == 1);
    CHECK(read_all(role->socket.get()) == "x");
    CHECK(world.next(Kind::ended).status_text() == "exit status 9");

    REQUIRE(world.spawner().start_role(1, SOCK_STREAM));
    CHECK(world.next(Kind::failed).sentence == "there is no such role");
}

TEST_CASE("many children at once are all reported") {
    SpawnWorld world;
    constexpr int kMany = 64;
    for (int i = 0; i < kMany; ++i) {
        REQUIRE(world.spawner().start(SpawnWorld::shell("exit 0"), {}));
    }
    int started = 0;
    int ended = 0;
    while (ended < kMany) {
        const SpawnEvent event = world.next();
        started += event.kind == Kind::started ? 1 : 0;
        ended += event.kind == Kind::ended ? 1 : 0;
        REQUIRE(ended <= started);
    }
    CHECK(started == kMany);
}

TEST_CASE("when the daemon dies its children and its spawner end") {
    Pipe pipe;
    const pid_t daemon = ::fork();
    if (daemon == 0) {
        auto spawner = Spawner::fork({});
        // Ignores SIGTERM, as a worker in trouble may be.
        const bool asked =
            spawner && spawner->start(SpawnWorld::shell("trap '' TERM; echo up >&3; "
                                                        "while :; do read x </dev/zero; done"),
                                      {pipe.in.get()});
        ::_exit(asked && wait_readable(pipe.out.get()) ? 0 : 1);
    }
    pipe.in.reset();
    int status = -1;
    REQUIRE(::waitpid(daemon, &status, 0) == daemon);
    REQUIRE(status == 0);
    CHECK(read_all(pipe.out.get()) == "up\n");
}

TEST_CASE("when the spawner dies its children end and the daemon hears of it") {
    SpawnWorld world;
    Pipe pipe;
    REQUIRE(world.spawner().start(
        SpawnWorld::shell("echo up >&3; while :; do read x </dev/zero; done"),
        {pipe.in.get()}));
    pipe.in.reset();
    world.next(Kind::started);
    REQUIRE(wait_readable(pipe.out.get()));
    REQUIRE(::kill(world.spawner().pid(), SIGKILL) == 0);
    CHECK(read_all(pipe.out.get()) == "up\n");
    REQUIRE(wait_readable(world.spawner().fd()));
    CHECK_FALSE(world.spawner().read_events());
    ::waitpid(world.spawner().pid(), nullptr, 0);
}
