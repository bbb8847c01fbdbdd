// Tests how the source ends the broadcast, and when it says that it is alive.
#include "transport/core/source/source_ending.h"

#include "tests/unit/core/parts.h"
#include "transport/core/membership/release.h"
#include "transport/core/source/keep_alive.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

Datagram packet_of(unsigned from, wire::PacketType type) {
    Datagram datagram;
    datagram.header.rank = rank(from);
    datagram.header.type = type;
    return datagram;
}

struct Source {
    SourceEnding ending{config_of(0, 3), {}};
    ControlQueue control{100};
    EndingLimits limits{};
};

}  // namespace

TEST_CASE("the broadcast succeeds once all hold the object, the source's own copy included") {
    Source source;
    for (const unsigned each : {0U, 1U, 2U}) {
        CHECK(source.ending.decide(kStart, true) == nullptr);
        source.ending.on_done(rank(each));
    }
    CHECK(source.ending.decide(kStart, false) == nullptr);
    const wire::Ending* const released = source.ending.decide(kStart, true);
    REQUIRE(released != nullptr);
    CHECK(released->outcome == 0);
    CHECK(source.ending.decide(kStart, true) == nullptr);
}

TEST_CASE("the first failure decides, and RELEASE has it") {
    Source source;
    source.ending.fail(rank(2), Blame::user, "no space");
    source.ending.fail(rank(1), Blame::node, "silence");
    const wire::Ending* const released = source.ending.decide(kStart, false);
    REQUIRE(released != nullptr);
    CHECK(released->rank == rank(2));
    CHECK(released->why == "no space");
    CHECK(source.ending.blame() == Blame::user);
    CHECK(released->outcome != 0);
}

TEST_CASE("a member that is done may leave") {
    Source source;
    source.ending.on_done(rank(1));
    source.ending.fail(rank(1), Blame::node, "killed");
    CHECK(source.ending.decide(kStart, true) == nullptr);
    source.ending.on_done(rank(0));
    source.ending.fail(rank(0), Blame::node, "killed");
    CHECK(source.ending.decide(kStart, true) != nullptr);
}

TEST_CASE("RELEASE is repeated until all have confirmed it, or for a while") {
    Source source;
    for (const unsigned each : {0U, 1U, 2U}) {
        source.ending.on_done(rank(each));
    }
    CHECK_FALSE(source.ending.deadline());
    REQUIRE(source.ending.decide(kStart, true) != nullptr);
    source.ending.poll(kStart, source.control);
    CHECK(drained(source.control).size() == 1);
    source.ending.on_late(packet_of(1, wire::PacketType::done), source.control);
    CHECK(drained(source.control).size() == 1);  // Again, to that member.
    SECTION("all have confirmed it") {
        source.ending.on_late(packet_of(1, wire::PacketType::done_ack), source.control);
        CHECK(source.ending.deadline());
        source.ending.on_late(packet_of(2, wire::PacketType::done_ack), source.control);
    }
    SECTION("time is over") {
        source.ending.poll(kStart + source.limits.answer_late, source.control);
    }
    CHECK_FALSE(source.ending.deadline());
}

TEST_CASE("a hand-over is repeated, by unicast too where the group is not heard") {
    CoreConfig config = config_of(0, 3);
    config.next_relay = Relay::tree(4);
    SourceEnding ending{config, {}};
    ControlQueue control{100};
    ending.name_unreached({rank(2)});
    ending.hand_over(kStart);
    for (const Instant at : {kStart, kStart + milliseconds{5}}) {
        ending.poll(at, control);
        const auto sent = drained(control);
        REQUIRE(sent.size() == 2);
        CHECK(sent[0].to.to_group);
        CHECK(sent[1].to == Destination{.to_group = false, .peer = rank(2)});
        const auto release = wire::read_ending(sent[1].body);
        REQUIRE(release);
        CHECK(release->outcome == wire::Ending::kNodes);  // To a member that knows no relay.
        CHECK(release->relay_degree == 4);
        CHECK(release->unreached ==
              std::vector<wire::RankRun>{{.first = rank(2), .last = rank(2)}});
    }
    ending.on_late(packet_of(2, wire::PacketType::done_ack), control);
    ending.poll(kStart + milliseconds{20}, control);
    CHECK(drained(control).size() == 1);
    ending.on_late(packet_of(1, wire::PacketType::done_ack), control);
    CHECK_FALSE(ending.deadline());
}

TEST_CASE("a hand-over is a failure to a member that cannot relay") {
    CoreConfig config = config_of(1, 3);
    config.next_relay = Relay::tree(2);
    wire::Ending release = hand_over_of(config);
    release.unreached = runs_of({rank(2)}, config);
    const auto failed = result_of(release, config, false);
    REQUIRE(failed);
    CHECK(failed->phase == Phase::failed);
    CHECK(failed->why);
    config.unreached_policy = UnreachedPolicy::relay;
    for (const bool holds : {false, true}) {
        const auto moved = result_of(release, config, holds);
        REQUIRE(moved);
        CHECK(moved->phase == Phase::handed_over);
        CHECK(moved->relay == Relay::tree(2));
        CHECK(moved->unreached == std::vector{rank(2)});
        CHECK_FALSE(moved->why);
    }
}

TEST_CASE("RELEASE lists the members that were dropped, and does not wait for them") {
    CoreConfig config = config_of(0, 4);
    config.drops_failed = true;
    SourceEnding ending{config, {}};
    ControlQueue control{100};
    ending.fail(rank(3), Blame::node, "silent");
    CHECK(ending.take_dropped() == std::vector{rank(3)});
    CHECK(ending.take_dropped().empty());
    for (const unsigned each : {0U, 1U, 2U}) {
        CHECK(ending.decide(kStart, true) == nullptr);
        ending.on_done(rank(each));
    }
    const wire::Ending* const released = ending.decide(kStart, true);
    REQUIRE(released != nullptr);
    CHECK(released->outcome == 0);
    CHECK(released->dropped_all == 1);
    CHECK(released->dropped == std::vector<wire::RankRun>{{.first = rank(3), .last = rank(3)}});
    ending.release_unresponsive(RankSet{4}, control);
    ending.on_late(packet_of(1, wire::PacketType::done_ack), control);
    CHECK(ending.deadline());
    ending.on_late(packet_of(2, wire::PacketType::done_ack), control);
    CHECK_FALSE(ending.deadline());
}

TEST_CASE("a source that has nothing to send says so soon, then more and more rarely") {
    KeepAlive alive{milliseconds{2}, milliseconds{10}};
    alive.on_spoken(kStart);
    CHECK(alive.next(false) == kStart + milliseconds{2});
    CHECK(alive.next(true) == kStart + milliseconds{10});
    alive.on_kept_alive(kStart);
    CHECK(alive.next(false) == kStart + milliseconds{4});
    for (int i = 0; i < 5; ++i) {
        alive.on_kept_alive(kStart);
    }
    CHECK(alive.next(false) == kStart + milliseconds{10});
    alive.on_data(kStart + milliseconds{1});
    CHECK(alive.next(false) == kStart + milliseconds{3});
}
