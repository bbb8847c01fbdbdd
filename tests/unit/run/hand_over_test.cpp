#include "transport/run/hand_over.h"

#include "transport/core/base/timeouts.h"

#include <catch2/catch.hpp>

using namespace stage;
using std::chrono::seconds;

TEST_CASE("the relay has the same members and a session of its own") {
    BroadcastConfig config;
    for (unsigned i = 0; i < 3; ++i) {
        config.members.emplace_back().fill(static_cast<std::byte>(i + 1));
    }
    config.session.fill(std::byte{7});
    config.unreached_policy = UnreachedPolicy::relay;
    config.ready_timeout = seconds{600};
    config.stall_timeout = seconds{30};
    core::Outcome outcome;
    outcome.phase = core::Phase::handed_over;
    outcome.relay = Relay::tree(2);
    const BroadcastConfig relay = relay_after(config, outcome);
    CHECK(relay.scheme == Scheme{Relay::tree(2)});
    CHECK(relay.session != config.session);
    CHECK(seal::demux(relay.session) != seal::demux(config.session));
    CHECK(relay.members == config.members);
    CHECK(relay.unreached_policy == UnreachedPolicy::fetch);
    CHECK(relay.ready_timeout == config.stall_timeout);
}

TEST_CASE("a relay does not take a time-out that was left to its default for the shortest") {
    BroadcastConfig config;
    core::Outcome outcome;
    outcome.relay = Relay{};
    config.ready_timeout = seconds{600};
    CHECK(relay_after(config, outcome).ready_timeout == core::kStallTimeout);
    config.ready_timeout = {};
    config.stall_timeout = seconds{3};
    CHECK(relay_after(config, outcome).ready_timeout == seconds{3});
}

TEST_CASE("the report is on both sessions") {
    BroadcastReport first;
    first.ran = seconds{2};
    first.driver.packets_sent = 5;
    first.outcome.was_unreachable = true;
    first.outcome.unreached = {Rank{1}};
    BroadcastReport second;
    second.ran = seconds{3};
    second.held_after = seconds{1};
    second.driver.packets_sent = 7;
    second.transport = "tcp";
    const BroadcastReport both = joined(first, second);
    CHECK(both.was_handed_over);
    CHECK(both.ran == seconds{5});
    CHECK(both.held_after == seconds{3});
    CHECK(both.driver.packets_sent == 12);
    CHECK(both.transport == "tcp");
    CHECK(both.outcome.was_unreachable);
    CHECK(both.outcome.unreached == first.outcome.unreached);
    first.held_after = seconds{1};  // A small object may be held before the hand-over.
    CHECK(joined(first, second).held_after == seconds{1});
}
