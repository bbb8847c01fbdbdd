// Tests which jobs' files the sweep removes, and which it never touches.
#include "stager/daemon/jobs/sweep.h"

#include "stager/daemon/jobs/verdict_store.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <set>

namespace stage {
namespace {

constexpr std::uint32_t kFirst = 10;  ///< Is alive; the next ones are as SlurmJobState counts.
constexpr std::uint32_t kLast = 99;   ///< Asked about last, and absent.
constexpr std::uint32_t kStepped = 98;  ///< Has a step here; slurmctld would call it absent.

SlurmJob job_of(std::uint32_t job) {
    const auto state =
        job >= kStepped ? SlurmJobState::absent : static_cast<SlurmJobState>(job - kFirst);
    return {.state = state, .restart_count = 0, .word = "STATE"};
}

/// In place of the child that asks Slurm.
int answer_for_slurm(int fd) {
    std::array<std::byte, 4096> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    ByteReader reader{Bytes{bytes}.first(got > 0 ? static_cast<std::size_t>(got) : 0)};
    const auto question = decode_question(reader.blob(bytes.size()));
    if (!question) {
        return 1;
    }
    std::vector<SlurmJob> jobs;
    for (const std::uint32_t job : std::get<JobsQuestion>(*question).job_ids) {
        jobs.push_back(job_of(job));
    }
    ByteWriter out;
    out.blob(encode_slurm_answer(SlurmAnswer{jobs}));
    return ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

constexpr std::uint32_t job_that_is(SlurmJobState state) {
    return kFirst + static_cast<std::uint32_t>(state);
}

/// A StageRoot with a directory for each of these jobs.
class SweptRoot {
  public:
    SweptRoot(ServicesWorld& world, const std::vector<std::uint32_t>& jobs)
        : path_{world.scratch.path("root")} {
        REQUIRE(::mkdir(path_.c_str(), 0755) == 0);
        for (const std::uint32_t job : jobs) {
            REQUIRE(::mkdir((path_ + "/" + std::to_string(job)).c_str(), 0700) == 0);
        }
        directory_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    [[nodiscard]] int fd() const { return directory_.get(); }

  private:
    std::string path_;
    UniqueFd directory_;
};

}  // namespace

TEST_CASE("the files of suspended jobs stay, and those of completing ones but at the start",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const SweptRoot root{world, {10, 11, 12, 13, 14, kStepped}};
    REQUIRE(world.services->verdicts.save_root(kLast, "/another"));  // Below that one.
    std::set<std::uint32_t> removed;
    Sweep sweep{world.services->basics,
                world.services->verdicts,
                {.stage_root = [&] { return Result<int>{root.fd()}; },
                 .is_here = [](std::uint32_t) { return false; },
                 .steps = [] { return std::set<std::uint32_t>{kStepped}; },
                 .remove = [&](std::uint32_t job) { removed.insert(job); },
                 .remove_set_aside = [] {}},
                {.first_rest = Duration::zero(), .rest_max = Duration::zero()}};
    const auto swept = [&] {
        removed.clear();
        sweep.begin();
        world.run_until([&] { return removed.count(kLast) > 0; });
        return removed;
    };
    const std::set<std::uint32_t> over{
        job_that_is(SlurmJobState::ended), job_that_is(SlurmJobState::absent), kLast};
    auto at_start = over;
    at_start.insert(job_that_is(SlurmJobState::completing));
    CHECK(swept() == at_start);
    CHECK(swept() == over);
}

// The only answer is that all jobs are over: every job in a question is removed.
TEST_CASE("after the start no job is asked about whose time has not come", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const SweptRoot root{world, {11}};
    std::set<std::uint32_t> removed;
    Sweep sweep{world.services->basics,
                world.services->verdicts,
                {.stage_root = [&] { return Result<int>{root.fd()}; },
                 .is_here = [](std::uint32_t) { return false; },
                 .steps = [] { return std::set<std::uint32_t>{}; },
                 .remove = [&](std::uint32_t job) { removed.insert(job); },
                 .remove_set_aside = [] {}}};
    sweep.begin();
    world.run_until([&] { return removed.contains(11); });
    removed.clear();
    sweep.begin();
    bool is_later = false;
    world.loop().after(std::chrono::milliseconds{50}, [&] { is_later = true; });
    world.run_until([&] { return is_later; });
    CHECK(removed.empty());
}

}  // namespace stage
