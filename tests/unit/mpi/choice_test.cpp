// Tests how a call of MPI_Bcast is carried out.
#include "stager/mpi/bcast/choice.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <vector>

namespace stage {

TEST_CASE("messages of about one length have one class") {
    CHECK(stagecast_class_of(1000, 1000) == 0);
    CHECK(stagecast_class_of(3999, 1000) == 0);
    CHECK(stagecast_class_of(4000, 1000) == 1);
    CHECK(stagecast_class_of(16'000, 1000) == 2);
    CHECK(stagecast_class_of(1U << 31U, 1000) == STAGECAST_CLASSES - 1);
}

TEST_CASE("short messages of one packet are a class, and those of several") {
    CHECK(stagecast_short_class_of(1) == 0);
    CHECK(stagecast_short_class_of(1024) == 0);
    CHECK(stagecast_short_class_of(1025) == 1);
    CHECK(stagecast_short_class_of(8192) == 1);
}

TEST_CASE("both ways are tried twice after a first call, and the faster is kept") {
    stagecast_trial trial{};
    std::vector<int> ways;
    int is_last = 0;
    for (const double seconds : {9.0, 3.0, 2.0, 4.0, 1.0}) {
        REQUIRE(is_last == 0);
        ways.push_back(stagecast_next_way(&trial));
        is_last = stagecast_tell(&trial, seconds, STAGECAST_TRIAL_CALLS);
    }
    CHECK(is_last == 1);
    CHECK(ways == std::vector<int>{STAGECAST_BY_GROUP,
                                   STAGECAST_BY_MPI,
                                   STAGECAST_BY_GROUP,
                                   STAGECAST_BY_MPI,
                                   STAGECAST_BY_GROUP});
    CHECK(trial.seconds[STAGECAST_BY_GROUP] == 1.0);
    CHECK(trial.seconds[STAGECAST_BY_MPI] == 3.0);

    SECTION("by the longest times of all ranks") {
        const std::array longest{3.5, 3.0};
        stagecast_decide(&trial, longest.data());
        CHECK(stagecast_next_way(&trial) == STAGECAST_BY_GROUP);
    }
    SECTION("in doubt by the MPI") {
        const std::array longest{3.0, 3.0};
        stagecast_decide(&trial, longest.data());
        CHECK(stagecast_next_way(&trial) == STAGECAST_BY_MPI);
    }
}

TEST_CASE("a trial in which the group failed begins again") {
    stagecast_trial trial{};
    stagecast_tell(&trial, 9.0, STAGECAST_TRIAL_CALLS);
    stagecast_tell(&trial, 0.1, STAGECAST_TRIAL_CALLS);
    stagecast_restart(&trial);
    CHECK(stagecast_next_way(&trial) == STAGECAST_BY_GROUP);
    int calls = 1;
    while (stagecast_tell(&trial, 2.0, STAGECAST_TRIAL_CALLS) == 0) {
        ++calls;
    }
    CHECK(calls == STAGECAST_TRIAL_CALLS);
    CHECK(trial.seconds[STAGECAST_BY_MPI] == 2.0);
}

TEST_CASE("the environment says which messages go by groups") {
    const auto with = [](const char* mode, const char* verbose, const char* least) {
        ::setenv("STAGECAST_BCAST", mode, 1);
        ::setenv("STAGECAST_BCAST_VERBOSE", verbose, 1);
        ::setenv("STAGECAST_BCAST_MIN", least, 1);
        const stagecast_settings settings = stagecast_settings_of_environment();
        ::unsetenv("STAGECAST_BCAST");
        ::unsetenv("STAGECAST_BCAST_VERBOSE");
        ::unsetenv("STAGECAST_BCAST_MIN");
        return settings;
    };
    CHECK(with("", "", "").mode == STAGECAST_BCAST_AUTO);
    CHECK(with("", "", "").least_bytes == 256 << 10);
    CHECK(with("", "", "").is_verbose == 0);
    CHECK(with("off", "1", "").mode == STAGECAST_BCAST_OFF);
    CHECK(with("force", "1", "").mode == STAGECAST_BCAST_FORCE);
    CHECK(with("force", "1", "").is_verbose == 1);
    CHECK(with("", "0", "1000000").is_verbose == 0);
    CHECK(with("", "0", "1000000").least_bytes == 1'000'000);
    CHECK(with("", "", "7").least_bytes == 64 << 10);
    CHECK(with("force", "", "7").least_bytes == 7);
    CHECK(with("force", "", "-7").least_bytes == 1);

    for (const char* unclear : {"OFF", "0", "on"}) {
        CHECK(with(unclear, "", "").mode == STAGECAST_BCAST_OFF);
        CHECK(with(unclear, "", "").is_unclear == 1);
    }
    CHECK(with("", "", "1M").mode == STAGECAST_BCAST_OFF);
    CHECK(with("force", "", "x").is_unclear == 1);
    CHECK(with("auto", "", "").mode == STAGECAST_BCAST_AUTO);
    CHECK(with("off", "", "").is_unclear == 0);

    const auto most_short = [](const char* most) {
        ::setenv("STAGECAST_BCAST_SHORT", most, 1);
        const stagecast_settings settings = stagecast_settings_of_environment();
        ::unsetenv("STAGECAST_BCAST_SHORT");
        return settings.short_bytes;
    };
    CHECK(most_short("") == 0);
    CHECK(with("force", "", "").short_bytes == 8192);
    CHECK(most_short("0") == 0);
    CHECK(most_short("1000") == 1000);
    CHECK(most_short("-1") == 0);
    CHECK(most_short("10000") == 8192);
}

}  // namespace stage
