// Is a job cancelled that Slurm never begins, and is slurmctld left alone once it has ended?
#include "stager/daemon/result/unbegun_job.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>

namespace stage {
namespace {

constexpr StageKey kUnbegunKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};
/// Long enough ago that the job is to be cancelled at once.
constexpr Duration kLongAgo = std::chrono::seconds{60};

/// In place of the child that asks Slurm: it cancels the job if the order is as it should be.
int cancel_for_slurm(int fd) {
    std::array<std::byte, 4096> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    ByteReader reader{Bytes{bytes}.first(got > 0 ? static_cast<std::size_t>(got) : 0)};
    const auto question = decode_question(reader.blob(bytes.size()));
    const auto* order = question ? std::get_if<CancelOrder>(&*question) : nullptr;
    if (order == nullptr || order->job_id != 42 || order->step_id || order->restart != 1 ||
        order->sentence != "stagecast: node n3: why" || !order->only_in_prolog) {
        return 1;
    }
    ByteWriter out;
    out.blob(
        encode_slurm_answer(SlurmAnswer{SlurmJob{.state = SlurmJobState::ended, .word = {}}}));
    return ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

void pass_some_time(ServicesWorld& world) {
    bool is_over = false;
    world.loop().after(std::chrono::milliseconds{50}, [&] { is_over = true; });
    world.run_until([&] { return is_over; });
}

struct Awaited {
    explicit Awaited(ServicesWorld& world)
        : job{world.loop(),
              world.services->basics.children,
              world.config,
              world.services->basics.log,
              kUnbegunKey,
              [this] { ++done; }} {}

    int done = 0;
    UnbegunJob job;
};

}  // namespace

TEST_CASE("a failed job that waits for a prolog is cancelled, once", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, cancel_for_slurm}};
    Awaited awaited{world};
    UnbegunJob& job = awaited.job;
    const int& done = awaited.done;
    CHECK_FALSE(job.is_awaited());
    job.await(world.loop().now() - kLongAgo, "node n3: why");
    CHECK(job.is_awaited());
    world.run_until([&] { return done > 0; });
    CHECK_FALSE(job.is_awaited());
    pass_some_time(world);
    CHECK(done == 1);
}

TEST_CASE("a job is awaited on while slurmctld does not answer, until it has ended", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;  // Without a child that asks Slurm.
    Awaited awaited{world};
    UnbegunJob& job = awaited.job;
    const int& done = awaited.done;
    job.await(world.loop().now() - kLongAgo, "node n3: why");
    pass_some_time(world);
    CHECK(done == 0);
    CHECK(job.is_awaited());
    job.stop();
    CHECK_FALSE(job.is_awaited());
}

TEST_CASE("a job that ends in time is not asked for", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, cancel_for_slurm}};
    Awaited awaited{world};
    UnbegunJob& job = awaited.job;
    const int& done = awaited.done;
    job.await(world.loop().now() - kLongAgo, "node n3: why");
    job.stop();
    pass_some_time(world);
    CHECK(done == 0);
}

}  // namespace stage
