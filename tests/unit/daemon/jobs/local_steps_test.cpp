// Tests which processes count as a job's step.
#include "stager/daemon/jobs/local_steps.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace stage;

TEST_CASE("slurmstepd says which step of which job it is for") {
    using namespace std::string_view_literals;
    CHECK(job_of_stepd("slurmstepd: [12.0]\0"sv) == 12U);
    CHECK(job_of_stepd("slurmstepd: [4711.batch]") == 4711U);
    CHECK(job_of_stepd("slurmstepd: [7.extern]") == 7U);
    for (const std::string_view other : {"slurmstepd: [12]"sv,
                                         "slurmstepd: [x.0]"sv,
                                         "slurmstepd: [99999999999.0]"sv,
                                         "slurmstepd: ["sv,
                                         "/usr/sbin/slurmstepd"sv,
                                         "bash"sv,
                                         ""sv}) {
        CAPTURE(other);
        CHECK_FALSE(job_of_stepd(other));
    }
}

// The command line of another process is never opened: its user can make a reader of it wait
// for ever (a FUSE mapping whose server is stopped holds the memory map's lock), and a process
// that is not dumpable has files of root's below /proc.
TEST_CASE("only root's processes count, as any user's may be called slurmstepd") {
    const test::Scratch scratch;
    const auto process = [&](const std::string& number, const std::string& title, uid_t uid) {
        const std::string directory = scratch.path(number);
        REQUIRE(::mkdir(directory.c_str(), 0755) == 0);
        std::ofstream{directory + "/cmdline"} << title;
        std::ofstream{directory + "/status"} << "Name:\tslurmstepd\nUmask:\t0022\nUid:\t" << uid
                                             << "\t0\t0\t0\nGid:\t0\n";
    };
    process("100", "slurmstepd: [12.0]", 0);
    process("101", "slurmstepd: [13.0]", 2001);
    process("self", "slurmstepd: [14.0]", 0);
    CHECK(jobs_with_steps(scratch.path("")) == std::set<std::uint32_t>{12});
    CHECK(jobs_with_steps("/nonexistent").empty());
}
