// Does Slurm hear of a stage what the site wants it to hear, and in the right order?
#include "stager/daemon/result/slurm_report.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>

using namespace stage;

namespace {

constexpr StageKey kReportedKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};

/// Takes one order of a failure for slurmctld: it must name the job, and the reason.
int hear_for_slurm(int fd) {
    std::array<std::byte, 4096> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    ByteReader reader{Bytes{bytes}.first(got > 0 ? static_cast<std::size_t>(got) : 0)};
    const auto question = decode_question(reader.blob(bytes.size()));
    const auto* order = question ? std::get_if<FailureOrder>(&*question) : nullptr;
    if (order == nullptr || order->job_id != 42 || order->requeue ||
        order->sentence != "stagecast: node n3: why") {
        return 1;
    }
    ByteWriter out;
    out.blob(encode_slurm_answer(SlurmAnswer{SlurmJob{.word = {}}}));
    return ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

const Verdict kFailed{
    .state = VerdictState::failed, .blame = Blame::node, .sentence = "node n3: why"};

/// A report, beside a report of the progress that ends when `progress_ends` is called.
struct Reported {
    explicit Reported(ServicesWorld& world)
        : report{world.services->basics,
                 [this](std::function<void()> then) { progress_ends = std::move(then); },
                 kReportedKey,
                 [] {}} {}

    bool fault() {
        return report.report_fault({.verdict = kFailed, .suspects = {}}, [this] { ++heard; });
    }

    std::function<void()> progress_ends;
    int heard = 0;
    SlurmReport report;
};

}  // namespace

TEST_CASE("a fault is reported once the progress is, and the plugin need not wait", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, hear_for_slurm}};
    Reported one{world};
    CHECK_FALSE(one.fault());
    CHECK(one.report.is_busy());
    CHECK(one.heard == 0);
    REQUIRE(one.progress_ends);
    one.progress_ends();
    world.run_until([&] { return one.heard > 0; });
    CHECK(one.report.is_busy());  // The job may wait for a prolog that never comes.
    one.report.on_job_end();
    CHECK_FALSE(one.report.is_busy());
}

TEST_CASE("with AdminComment=no Slurm hears no reason", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    world.config.admin_comment = false;
    Reported one{world};
    CHECK_FALSE(one.fault());
    CHECK_FALSE(one.progress_ends);
    CHECK(one.report.is_busy());  // The job may wait for a prolog that never comes.
    one.report.on_job_end();
    CHECK_FALSE(one.report.is_busy());
}
