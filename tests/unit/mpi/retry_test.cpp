// Tests when a group of MPI_Bcast that failed is tried again.
#include "stager/mpi/bcast/retry.h"

#include <catch2/catch.hpp>

#include <vector>

namespace stage {
namespace {

/// A process with one communicator that fails whenever it may try, once a second until `end`.
std::vector<int> tries_until(int end) {
    stagecast_paths paths{};
    stagecast_record record{};
    std::vector<int> tries;
    for (int now = 0; now < end; ++now) {
        if (stagecast_must_wait(&paths, &record, now) == 0) {
            tries.push_back(now);
            static_cast<void>(stagecast_note_failure(&paths, &record, now));
        }
    }
    return tries;
}

}  // namespace

TEST_CASE("a group that fails is tried again at once, and then at growing intervals") {
    CHECK(tries_until(1000) == std::vector<int>{0, 1, 11, 31, 71, 151, 311, 631});
}

TEST_CASE("the intervals do not grow beyond an hour") {
    const std::vector<int> tries = tries_until(100'000);
    CHECK(tries.back() - tries[tries.size() - 2] == +STAGECAST_WAIT_MAX_S);
    CHECK(tries.size() > 30);
}

TEST_CASE("what one communicator learns of the paths holds for the others") {
    stagecast_paths paths{};
    stagecast_record failing{};
    stagecast_record fresh{};
    stagecast_record working{};
    stagecast_note_success(&paths, &working);
    CHECK(stagecast_note_failure(&paths, &failing, 10) == 0);
    CHECK(stagecast_must_wait(&paths, &fresh, 10) == 0);
    CHECK(stagecast_note_failure(&paths, &failing, 11) == STAGECAST_WAIT_S);

    CHECK(stagecast_must_wait(&paths, &failing, 12) == 1);
    CHECK(stagecast_must_wait(&paths, &fresh, 12) == 1);
    CHECK(stagecast_must_wait(&paths, &fresh, 11 + STAGECAST_WAIT_S) == 0);
    SECTION("but not for one whose last message was carried") {
        CHECK(stagecast_must_wait(&paths, &working, 12) == 0);
    }
    SECTION("and a new one has no second try after the wait") {
        CHECK(stagecast_note_failure(&paths, &fresh, 100) == 2 * STAGECAST_WAIT_S);
    }
    SECTION("unless it is one that worked: its first failure may be its own") {
        CHECK(stagecast_note_failure(&paths, &working, 100) == 0);
        CHECK(stagecast_note_failure(&paths, &working, 101) == 2 * STAGECAST_WAIT_S);
    }
}

TEST_CASE("when a group that had failed carries a message, the waits begin anew") {
    stagecast_paths paths{};
    stagecast_record first{};
    stagecast_record other{};
    for (int i = 0; i < 4; ++i) {
        static_cast<void>(stagecast_note_failure(&paths, &first, 1000.0 * i));
    }
    SECTION("by one that did not fail it is not known whether the path is well") {
        stagecast_note_success(&paths, &other);
        CHECK(stagecast_note_failure(&paths, &first, 5000) == 8 * STAGECAST_WAIT_S);
    }
    SECTION("by that one it is") {
        stagecast_note_success(&paths, &first);
        CHECK(stagecast_note_failure(&paths, &first, 5000) == 0);
        CHECK(stagecast_note_failure(&paths, &first, 5001) == STAGECAST_WAIT_S);
    }
}

}  // namespace stage
