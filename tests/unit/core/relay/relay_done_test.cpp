#include "transport/core/relay/relay_done.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr Duration kGather = milliseconds{50};

std::vector<wire::RankRun> only(unsigned member) {
    return {{.first = rank(member), .last = rank(member)}};
}

/// Rank 2 of a chain of six: four members from it on down.
RelayDone done_of_chain() {
    return {config_of(2, 6), 4, kGather};
}

}  // namespace

TEST_CASE("of the first member below the parent hears at once, of the next ones together") {
    RelayDone done = done_of_chain();
    CHECK_FALSE(done.deadline());
    done.on_done(only(5));
    CHECK(done.poll(kStart)->ranks == only(5));
    CHECK_FALSE(done.poll(kStart));
    done.on_done(only(4));
    CHECK(done.deadline() == kStart + kGather);
    CHECK_FALSE(done.poll(kStart));
    done.on_done(only(3));
    const auto body = done.poll(kStart + kGather);
    REQUIRE(body);
    CHECK(body->ranks == std::vector<wire::RankRun>{{.first = rank(3), .last = rank(4)}});
    CHECK_FALSE(done.has_reported_own());
}

TEST_CASE("when all members below hold the object the parent hears at once") {
    RelayDone done = done_of_chain();
    done.on_done(only(5));
    REQUIRE(done.poll(kStart));
    done.on_done(only(4));
    done.on_done(only(3));
    done.on_held();
    const auto body = done.poll(kStart);
    REQUIRE(body);
    CHECK(body->ranks == std::vector<wire::RankRun>{{.first = rank(2), .last = rank(4)}});
}

TEST_CASE("a parent that is heard an RTT after a DONE has received it") {
    RelayDone done = done_of_chain();
    constexpr Duration kRoundTrip = milliseconds{200};
    done.on_held();
    REQUIRE(done.poll(kStart));
    done.on_heard(kStart + kRoundTrip, kRoundTrip);
    CHECK_FALSE(done.has_reported_own());
    done.on_parent();  // The DONE was lost with the connection, perhaps.
    done.on_heard(kStart + 2 * kRoundTrip, kRoundTrip);
    CHECK_FALSE(done.has_reported_own());
    REQUIRE(done.poll(kStart + 2 * kRoundTrip));
    done.on_heard(kStart + 3 * kRoundTrip + Duration{1}, kRoundTrip);
    CHECK(done.has_reported_own());
    done.on_parent();
    CHECK(done.has_reported_own());
}

TEST_CASE("a member that has none below any more waits for none") {
    RelayDone done = done_of_chain();
    done.on_done(only(5));
    REQUIRE(done.poll(kStart));
    done.on_alone();
    done.on_held();
    CHECK(done.poll(kStart)->ranks == only(2));
}

TEST_CASE("a new parent hears of all members that hold the object") {
    RelayDone done = done_of_chain();
    done.on_done(only(5));
    REQUIRE(done.poll(kStart));
    done.on_held();
    REQUIRE(done.poll(kStart + kGather));
    done.on_parent();
    const auto body = done.poll(kStart + kGather);
    REQUIRE(body);
    std::vector<wire::RankRun> all = only(2);
    all.push_back(only(5).front());
    CHECK(body->ranks == all);
}

TEST_CASE("more members than one DONE can list are reported at once, in several") {
    RelayDone done{config_of(0, 1000), 1000, kGather};
    for (unsigned member = 1; member < 1000; member += 2) {
        done.on_done(only(member));
    }
    std::size_t reported = 0;
    Instant now = kStart;
    while (const auto body = done.poll(now)) {
        CHECK(body->ranks.size() <= wire::kMaxRankRuns);
        reported += body->ranks.size();
        now += kGather;
    }
    CHECK(reported == 500);
    CHECK_FALSE(done.deadline());
}
