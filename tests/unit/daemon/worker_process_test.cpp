// Can a user's worker keep the daemon from everything else?
#include "stager/daemon/worker_process.h"

#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

#include <sched.h>

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

}  // namespace

TEST_CASE("a worker that talks without end leaves the loop time for others") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    constexpr int kEnough = 20'000;
    ServicesWorld world;
    const std::string datagram = "\\001" + escaped(encode_from_worker(WorkerProgress{}));
    const ProgramRequest program{
        .path = "/bin/sh",
        .arguments = {"sh",
                      "-c",
                      "for one in 1 2 3; do while :; do printf '" + datagram +
                          "' >&3; done 2>/dev/null & done; wait"},
        .environment = {},
        .user = {},
        .group = {}};
    int of_round = 0;
    int most = 0;
    std::function<void()> count_round = [&] {
        of_round = 0;
        world.loop().after(Duration{0}, count_round);
    };
    count_round();
    int heard = 0;
    std::unique_ptr<WorkerProcess> worker;
    auto started = WorkerProcess::start(world.loop(),
                                        world.services->children,
                                        world.services->counters,
                                        {.program = program},
                                        {.on_started = [] {},
                                         .on_message =
                                             [&](const FromWorker&, const StrangerFd&) {
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

}  // namespace stage
