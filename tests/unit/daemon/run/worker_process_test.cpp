// Tests that a user's worker cannot keep the daemon busy.
#include "stager/daemon/run/worker_process.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/messages/untrusted_fd.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/worker/lingering_stream.h"
#include "transport/base/log.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

/// What printf of a shell makes a datagram of.
std::string escaped(Bytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        const auto number = std::to_integer<unsigned>(byte);
        for (const unsigned digit : {number >> 6U, (number >> 3U) & 7U, number & 7U}) {
            text += (text.size() % 4 == 0 ? "\\" : "") + std::to_string(digit);
        }
    }
    return text;
}

/// Starts `program` in `world`; its descriptors are closed by `closer`.
Result<std::unique_ptr<WorkerProcess>> start(ServicesWorld& world,
                                             const ProgramRequest& program,
                                             const std::shared_ptr<DeferredCloser>& closer,
                                             WorkerProcess::Events events) {
    return WorkerProcess::start(
        world.services->basics, {.program = program, .closer = closer}, std::move(events));
}

ProgramRequest program_of(const std::string& path, std::vector<std::string> arguments) {
    return {.path = path,
            .arguments = std::move(arguments),
            .environment = {},
            .user = {},
            .group = {}};
}

}  // namespace

TEST_CASE("a worker that talks without end leaves the loop time for others", "[root]") {
    if (!is_root()) {
        return;
    }
    constexpr int kEnough = 5'000;
    ServicesWorld world;
    const std::string datagram = "\\001" + escaped(encode_from_worker(WorkerProgress{}));
    const ProgramRequest program =
        program_of("/bin/sh",
                   {"sh",
                    "-c",
                    "for one in 1 2 3; do while :; do printf '" + datagram +
                        "' >&3; done 2>/dev/null & done; wait"});
    int of_round = 0;
    int most = 0;
    std::function<void()> count_round = [&] {
        of_round = 0;
        world.loop().after(Duration{0}, count_round);
    };
    count_round();
    int heard = 0;
    std::unique_ptr<WorkerProcess> worker;
    auto started = start(world,
                         program,
                         std::make_shared<DeferredCloser>(),
                         {.on_started = [] {},
                          .on_message =
                              [&](const FromWorker&, const UntrustedFd&) {
                                  most = std::max(most, ++of_round);
                                  static_cast<void>(::sched_yield());
                                  if (++heard == kEnough) {
                                      worker.reset();
                                  }
                              },
                          .on_ended = [](const std::string&) {}});
    REQUIRE(started);
    worker = std::move(*started);
    world.run_until([&] { return heard >= kEnough; });
    CHECK(most <= 64);
}

TEST_CASE("a worker that can start no thread is explained", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    std::string ended;
    auto started = start(world,
                         program_of("/bin/sh", {"sh", "-c", "exit 71"}),
                         std::make_shared<DeferredCloser>(),
                         {.on_started = [] {},
                          .on_message = [](const FromWorker&, const UntrustedFd&) {},
                          .on_ended = [&](const std::string& why) { ended = why; }});
    REQUIRE(started);
    world.run_until([&] { return !ended.empty(); });
    CHECK(ended ==
          "it could not start a thread, or had no memory left; does the user have too many "
          "processes?");
}

TEST_CASE("a worker that floods the daemon, or has two outcomes, is killed", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    WorkerOutcome outcome;
    const bool is_flood = GENERATE(true, false);
    const std::string datagram =
        "\\001" +
        escaped(is_flood ? encode_from_worker(WorkerProgress{}) : encode_from_worker(outcome));
    const std::string say = "printf '" + datagram + "' >&3; ";
    int heard = 0;
    std::string ended;
    auto started =
        start(world,
              program_of("/bin/sh",
                         {"sh",
                          "-c",
                          is_flood ? "trap '' PIPE; while :; do " + say + "done 2>/dev/null"
                                   : say + say + "sleep 600"}),
              std::make_shared<DeferredCloser>(),
              {.on_started = [] {},
               .on_message = [&](const FromWorker&, const UntrustedFd&) { ++heard; },
               .on_ended = [&](const std::string& why) { ended = why; }});
    REQUIRE(started);
    world.run_until([&] { return !ended.empty(); });
    CHECK(ended == "killed by SIGKILL");
    CHECK(heard >= (is_flood ? 20'000 : 1));
    CHECK(heard <= (is_flood ? 30'000 : 1));
}

TEST_CASE("a worker's stdout and stderr can't forge a line of the log", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    std::vector<std::string> lines;
    const Logger log{
        [&](LogLevel /*level*/, std::string_view line) { lines.emplace_back(line); },
        LogLevel::info};
    std::string script;
    std::size_t wanted = 0;
    SECTION("hostile lines") {
        script = R"(printf 'stagecastd: error: forged\033[2J" uid=0\r\n' >&2; printf unended)";
        wanted = 2;
    }
    SECTION("a line without end") {
        script = R"(head -c 100000 /dev/zero | tr '\0' x; echo; echo after)";
        wanted = 2;
    }
    SECTION("lines without end") {
        script = "while :; do echo x || exit; done";
        wanted = kOutputLinesMax + 1;
    }
    bool has_ended = false;
    const Basics& given = world.services->basics;
    const Basics basics{.loop = given.loop,
                        .log = log,
                        .config = given.config,
                        .counters = given.counters,
                        .children = given.children};
    auto started =
        WorkerProcess::start(basics,
                             {.program = program_of("/bin/sh", {"sh", "-c", script}),
                              .stage = "42.job.0",
                              .closer = std::make_shared<DeferredCloser>()},
                             {.on_started = [] {},
                              .on_message = [](const FromWorker&, const UntrustedFd&) {},
                              .on_ended = [&](const std::string&) { has_ended = true; }});
    REQUIRE(started);
    world.run_until([&] { return has_ended; });
    REQUIRE(lines.size() == wanted);
    for (const std::string& line : lines) {
        CHECK(line.find("a job's process") != std::string::npos);
        CHECK(line.find_first_of("\r\n\033") == std::string::npos);
        CHECK(line.size() < kOutputLineMax + 200);
    }
    if (wanted == 2) {
        CHECK(lines.front().rfind(
                  "output of a job's process process=stagecast-worker stage=42.job.0 "
                  "uid=0 text=",
                  0) == 0);
    }
}

TEST_CASE("only KEEP and BEGUN bring a descriptor: with another message it is closed",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const int which = GENERATE(0, 1, 2);
    const bool is_keep = which < 2;
    ServicesWorld world;
    const std::string fifo = world.scratch.path("fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const UniqueFd reading{::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    REQUIRE(reading);
    const auto message = which == 0   ? encode_from_worker(WorkerKeep{.bytes = 1})
                         : which == 1 ? encode_from_worker(WorkerBegun{.bytes = 1})
                                      : encode_from_worker(WorkerProgress{});
    const ProgramRequest program = program_of("/usr/bin/python3",
                                              {"python3",
                                               "-c",
                                               "import os, socket, time\n"
                                               "daemon = socket.socket(fileno=3)\n"
                                               "file = os.open('" +
                                                   fifo +
                                                   "', os.O_WRONLY)\n"
                                                   "os.write(file, b'x')\n"
                                                   "socket.send_fds(daemon, [b'\\1" +
                                                   escaped(message) +
                                                   "'], [file])\n"
                                                   "os.close(file)\n"
                                                   "time.sleep(600)\n"});
    std::string ended;
    UntrustedFd kept;
    int heard = 0;
    auto worker = start(world,
                        program,
                        std::make_shared<DeferredCloser>(),
                        {.on_started = [] {},
                         .on_message =
                             [&](const FromWorker&, UntrustedFd file) {
                                 ++heard;
                                 kept = std::move(file);
                             },
                         .on_ended = [&](const std::string& why) { ended = why; }});
    REQUIRE(worker);
    world.run_until([&] { return heard > 0 || !ended.empty(); });
    if (is_keep) {
        CHECK(kept);
        CHECK(ended.empty());
        return;
    }
    CHECK(heard == 0);
    CHECK(ended == "killed by SIGKILL");
    char one = 0;
    world.run_until([&] { return ::read(reading.get(), &one, 1) == 0; });
    CHECK(one == 'x');
}

TEST_CASE("a user whose descriptors hang hands over no more, and starts nothing", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    const auto closer = std::make_shared<DeferredCloser>();
    const auto start_true = [&] {
        return start(world,
                     program_of("/bin/true", {"true"}),
                     closer,
                     {.on_started = [] {},
                      .on_message = [](const FromWorker&, const UntrustedFd&) {},
                      .on_ended = [](const std::string&) {}});
    };
    LingeringStream stream{10};
    closer->close(std::move(stream.near));
    for (std::size_t i = 1; i < kClosingMax; ++i) {
        closer->close(UniqueFd{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)});
    }
    const auto refused = start_true();
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().sentence(), Catch::Contains("unmount the FUSE file system"));
    stream.far.reset();
    world.run_until([&] { return !closer->is_full(); });
    CHECK(start_true());
}

}  // namespace stage
