#include "stager/daemon/watch.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {
constexpr StageKey kKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};
}

TEST_CASE("only a job that runs, in this life, is still wanted") {
    const auto reason = [](SlurmJobState state, std::uint32_t restart, std::string word) {
        return reason_to_stop(
            kKey, {.state = state, .restart_count = restart, .word = std::move(word)});
    };
    CHECK_FALSE(reason(SlurmJobState::alive, 1, "RUNNING"));
    CHECK_THAT(*reason(SlurmJobState::alive, 2, "RUNNING"), Catch::Contains("requeued"));
    CHECK_THAT(*reason(SlurmJobState::ended, 1, "CANCELLED"), Catch::Contains("CANCELLED"));
    CHECK(reason(SlurmJobState::absent, 1, "UNKNOWN"));
    CHECK_THAT(*reason(SlurmJobState::suspended, 1, "SUSPENDED"), Catch::Contains("SUSPENDED"));
    CHECK(reason(SlurmJobState::completing, 1, "TIMEOUT"));
}
