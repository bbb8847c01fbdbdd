// Which jobs' files does the sweep remove, and whose may it never touch?
#include "stager/daemon/sweep.h"

#include "tests/unit/daemon/services_world.h"
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

/// In place of the child that asks Slurm.
int answer_for_slurm(int fd) {
    std::array<std::byte, 4096> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    ByteReader reader{Bytes{bytes}.first(got > 0 ? static_cast<std::size_t>(got) : 0)};
    const auto question = decode_question(reader.blob(bytes.size()));
    if (!question) {
        return 1;
    }
    const std::uint32_t job = std::get<JobStateQuestion>(*question).job_id;
    const auto state =
        job == kLast ? SlurmJobState::absent : static_cast<SlurmJobState>(job - kFirst);
    ByteWriter out;
    out.blob(encode_slurm_answer(SlurmAnswer{SlurmJob{state, 0, "TOLD"}}));
    return ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

constexpr std::uint32_t job_that_is(SlurmJobState state) {
    return kFirst + static_cast<std::uint32_t>(state);
}

}  // namespace

TEST_CASE("the files of suspended jobs stay, and those of completing ones but at the start") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const std::string root = world.scratch.path("root");
    REQUIRE(::mkdir(root.c_str(), 0755) == 0);
    for (const std::uint32_t job : {10U, 11U, 12U, 13U, 14U}) {
        REQUIRE(::mkdir((root + "/" + std::to_string(job)).c_str(), 0700) == 0);
    }
    REQUIRE(world.services->verdicts.save_root(kLast, "/another"));  // Below that one.
    const UniqueFd directory{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    std::set<std::uint32_t> removed;
    Sweep sweep{*world.services,
                [&] { return Result<int>{directory.get()}; },
                [](std::uint32_t) { return false; },
                [&](std::uint32_t job) { removed.insert(job); }};
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

}  // namespace stage
