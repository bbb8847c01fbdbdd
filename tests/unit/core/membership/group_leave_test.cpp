#include "transport/core/membership/group_leave.h"

#include "tests/unit/core/parts.h"
#include "transport/core/membership/away_members.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;
using stage::wire::Standing;

namespace {

/// A member that hears a pulse each 10 ms, and between two pulses what `share` percent of 100
/// packets leave of them.
class Member {
  public:
    explicit Member(unsigned members = 9)
        : config{config_of(1, members)}, leave{config, Limits{}, prng} {}

    /// Pulses that wait so long here, and so long at most others, for a time. True if the
    /// standing changed meanwhile.
    bool hear(Duration time, Duration queue, Duration others = {}, unsigned share = 100) {
        bool has_changed = false;
        for (const Instant end = now + time; now < end; now += milliseconds{10}) {
            for (unsigned i = 0; i < share; ++i) {
                leave.on_arrival(arrival(++number, now));
            }
            sent += 100;
            has_changed = pulse(queue, others, !leave.is_fetching()) || has_changed;
        }
        return has_changed;
    }
    bool pulse(Duration queue, Duration others, bool to_group, std::uint32_t echo = 0) {
        Datagram datagram = arrival(++number, now + queue);
        datagram.to_group = to_group;
        // The clocks are hours apart.
        return leave.on_pulse(
            now,
            datagram,
            {.sent_at_ns = static_cast<std::uint64_t>((now - kStart).count()) + 7,
             .packets = sent,
             .block = {},
             .queue_us = static_cast<std::uint32_t>(others.count() / 1000),
             .away = away,
             .echo = echo});
    }
    /// What it tells the source now.
    std::vector<wire::Left> left_packets() {
        ControlQueue out{100};
        leave.poll(now, out);
        std::vector<wire::Left> all;
        for (const Send& send : drained(out)) {
            all.push_back(*wire::read_left(send.body));
        }
        return all;
    }

    Prng prng{1};
    CoreConfig config;
    GroupLeave leave;
    Instant now = kStart;
    std::uint64_t number = 0;
    std::uint32_t sent = 0;
    std::uint16_t away = 0;
};

constexpr Duration kQueue = milliseconds{20};

}  // namespace

TEST_CASE("a receiver that sees a queue stand on its own path leaves the group") {
    Member member;
    CHECK_FALSE(member.hear(milliseconds{300}, {}));
    CHECK_FALSE(member.hear(milliseconds{450}, kQueue));
    CHECK(member.hear(milliseconds{300}, kQueue));
    CHECK(member.leave.is_away());
    CHECK(member.leave.times() == 1);
    const auto left = member.left_packets();
    REQUIRE(left.size() == 1);
    CHECK(left[0].standing == Standing::away);
    // Half of what 100 packets each 10 ms took.
    CHECK(member.leave.fetch_bytes_per_s() == (1000 + kWireOverheadBytes) * 5'000);
}

TEST_CASE("no receiver leaves for a queue that comes and goes, or that most have") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    for (int i = 0; i < 10; ++i) {
        CHECK_FALSE(member.hear(milliseconds{400}, kQueue));
        CHECK_FALSE(member.hear(milliseconds{100}, {}));
    }
    CHECK_FALSE(member.hear(seconds{3}, kQueue, kQueue * 6 / 10));
}

TEST_CASE("no receiver leaves for a queue that its own repairs made") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    for (int i = 0; i < 400; ++i) {  // 40 ms of the stream's pace
        Datagram datagram = arrival(++member.number, member.now);
        datagram.to_group = false;
        member.leave.on_arrival(datagram);
    }
    CHECK_FALSE(member.hear(milliseconds{900}, kQueue));
    // Unless less than what is sent arrives, too.
    CHECK(member.hear(milliseconds{900}, kQueue, {}, 60));
}

TEST_CASE("what the sockets dropped has arrived: a stopped process is no queue") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    Datagram datagram = arrival(++member.number, member.now);
    datagram.to_group = false;
    for (int i = 0; i < 400; ++i) {
        member.leave.on_arrival(datagram);
    }
    CHECK_FALSE(member.hear(milliseconds{100}, kQueue));
    datagram.overflow = 60 * 40;
    member.leave.on_arrival(datagram);
    bool has_left = false;
    for (int i = 0; i < 80; ++i) {
        has_left = member.hear(milliseconds{10}, kQueue, {}, 0) || has_left;
        datagram.overflow += 100;
        member.leave.on_arrival(datagram);
    }
    CHECK_FALSE(has_left);
}

TEST_CASE("no more leave than the source doesn't follow; the only receiver never does") {
    Member member;
    member.away = 5;  // of eight
    static_cast<void>(member.hear(milliseconds{100}, {}));
    CHECK_FALSE(member.hear(seconds{3}, kQueue));
    Member alone{2};
    static_cast<void>(alone.hear(milliseconds{100}, {}));
    CHECK_FALSE(alone.hear(seconds{3}, kQueue));
}

TEST_CASE(
    "a receiver outside comes back to a path that was free for a while, and stays longer") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    REQUIRE(member.hear(milliseconds{900}, kQueue));
    CHECK_FALSE(member.hear(seconds{1}, kQueue / 3));
    CHECK_FALSE(member.hear(milliseconds{900}, {}));
    CHECK(member.hear(milliseconds{400}, {}));
    CHECK(member.leave.standing() == Standing::in_group);
    // The next time the queue has to stand twice as long.
    CHECK_FALSE(member.hear(milliseconds{900}, kQueue));
    CHECK(member.hear(milliseconds{400}, kQueue));
    CHECK(member.leave.times() == 2);
}

// Pulses came each 50 us x receivers: in a group of 6,001 too far apart to say that the path
// was free between them.
TEST_CASE("a receiver outside asks often enough to see its path free, in a group of any size") {
    for (const unsigned others : {0U, 2'000U, 35'000U}) {
        Member member{others < 3'600 ? 6'001U : 65'535U};
        static_cast<void>(member.hear(milliseconds{100}, {}));
        member.away = static_cast<std::uint16_t>(others);
        REQUIRE(member.hear(milliseconds{900}, kQueue));
        unsigned asked = 0;
        bool is_back = false;
        const Instant left = member.now;
        while (!is_back && member.now < left + seconds{5}) {
            REQUIRE(member.leave.deadline());
            member.now = std::max(member.now, *member.leave.deadline());
            const auto lefts = member.left_packets();
            REQUIRE(lefts.size() == 1);
            asked += 1;
            is_back = member.pulse({}, {}, false, lefts[0].id);
        }
        CAPTURE(others, asked, (member.now - left).count());
        CHECK(is_back);
        CHECK(member.now - left < seconds{2});
        // The source hears few often and many rarely: 20,000 in a second, at most.
        CHECK(asked >= (others == 0 ? 40U : 2U));
        CHECK(member.now - left >= microseconds{50} * others * (asked - 1));
    }
}

TEST_CASE("where the queue stands on after the leave the group is everywhere: back for good") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    REQUIRE(member.hear(milliseconds{900}, kQueue));
    CHECK(member.hear(seconds{4}, kQueue));
    CHECK_FALSE(member.leave.is_fetching());
    CHECK_FALSE(member.hear(seconds{8}, kQueue, {}, 60));
}

TEST_CASE("when nothing more is sent it hears the group again, and goes on fetching") {
    Member member;
    static_cast<void>(member.hear(milliseconds{100}, {}));
    REQUIRE(member.hear(milliseconds{900}, kQueue));
    CHECK(member.leave.on_end(member.now));
    CHECK(member.leave.standing() == Standing::fetching);
    CHECK_FALSE(member.leave.on_end(member.now));
    CHECK(member.leave.on_held(member.now));
    CHECK_FALSE(member.leave.is_fetching());
    // That is said until it is known.
    const auto left = member.left_packets();
    REQUIRE(left.size() == 1);
    member.now += seconds{1};
    REQUIRE(member.left_packets().size() == 1);
    static_cast<void>(member.pulse({}, {}, true, left[0].id));
    member.now += seconds{1};
    CHECK(member.left_packets().empty());
}

TEST_CASE("the source knows which members are away, by the last LEFT of each") {
    CoreConfig config = config_of(0, 9);
    config.rate_bytes_per_s = 0;
    config.policies.leave = LeavePolicy::congested;
    AwayMembers away{config, LeaveLimits{}, false};
    CHECK(away.on_left(rank(3), {.id = 5, .standing = Standing::away}));
    CHECK_FALSE(away.on_left(rank(3), {.id = 5, .standing = Standing::away}));
    CHECK(away.is_away(rank(3)));
    CHECK_FALSE(away.on_left(rank(3), {.id = 4, .standing = Standing::in_group}));
    CHECK(away.pulse(kStart, {}).away == 1);
    CHECK(away.on_left(rank(3), {.id = 6, .standing = Standing::fetching}));
    CHECK(away.is_fetching(rank(3)));
    CHECK(away.pulse(kStart, {}).away == 0);
    CHECK_FALSE(away.on_left(rank(9), {.id = 1, .standing = Standing::away}));
}

TEST_CASE("a member that asks the source repeats it until it is answered, or needs no answer") {
    Member member;
    const auto later = [&] {
        member.now += seconds{1};
        return member.left_packets();
    };
    member.leave.ask(member.now);
    auto left = later();
    REQUIRE(left.size() == 1);
    CHECK(left[0].standing == Standing::in_group);
    CHECK(later().size() == 1);
    static_cast<void>(member.pulse({}, {}, false, left[0].id));
    CHECK(later().empty());
    member.leave.ask(member.now);
    CHECK(later().size() == 1);
    member.leave.stop_asking();
    CHECK(later().empty());
    member.leave.set_unreachable(member.now, true);
    member.leave.set_unreachable(member.now, false);
    member.leave.ask(member.now);
    member.leave.stop_asking();  // But the source does not know yet that it is back.
    CHECK(later().size() == 1);
}

TEST_CASE(
    "an unreachable member says so until the end, and is known even if leaving is not "
    "allowed") {
    Member member;
    member.leave.set_unreachable(member.now, true);
    CHECK(member.leave.is_fetching());
    CHECK_FALSE(member.leave.is_away());  // It stays a member of the group.
    CHECK(member.leave.fetch_bytes_per_s() == member.config.rate_bytes_per_s);
    auto left = member.left_packets();
    REQUIRE(left.size() == 1);
    CHECK(left[0].standing == Standing::unreachable);
    CHECK_FALSE(member.hear(seconds{3}, kQueue));  // No queue brings it back.
    CHECK_FALSE(member.leave.on_end(member.now));
    CHECK_FALSE(member.leave.on_held(member.now));
    CHECK(member.left_packets().size() == 1);
    member.now += milliseconds{249};
    CHECK(member.left_packets().empty());  // It has all, and only waits for the end.
    member.leave.set_unreachable(member.now, false);
    left = member.left_packets();
    REQUIRE(left.size() == 1);
    CHECK(left[0].standing == Standing::in_group);

    AwayMembers away{config_of(0, 9), LeaveLimits{}, false};
    CHECK_FALSE(away.is_on());
    CHECK(away.on_left(rank(3), {.id = 1, .standing = Standing::unreachable}));
    CHECK(away.is_unreachable(rank(3)));
    CHECK(away.is_away(rank(3)));
    CHECK(away.is_fetching(rank(3)));
    CHECK(away.pulse(kStart, {}).away == 1);
    CHECK(away.on_left(rank(3), {.id = 2, .standing = Standing::in_group}));
    CHECK(away.pulse(kStart, {}).away == 0);
}

TEST_CASE("the source knows when all receivers that need data are away") {
    const CoreConfig config = config_of(0, 4);
    AwayMembers away{config, LeaveLimits{}, false};
    RankSet settled{4};
    CHECK_FALSE(away.are_all_away(settled, config.source));
    CHECK(away.on_left(rank(3), {.id = 1, .standing = Standing::unreachable}));
    CHECK_FALSE(away.are_all_away(settled, config.source));
    settled.add(rank(1));
    settled.add(rank(2));
    CHECK(away.are_all_away(settled, config.source));
    settled.add(rank(3));
    CHECK_FALSE(away.are_all_away(settled, config.source));
}

TEST_CASE("where the site does not allow it the source sends no PULSE and hears no LEFT") {
    CoreConfig config = config_of(0, 9);
    config.rate_bytes_per_s = 0;
    for (const auto policy : {LeavePolicy::never, LeavePolicy::congested}) {
        const bool is_allowed = policy == LeavePolicy::congested;
        config.policies.leave = policy;
        AwayMembers away{config, LeaveLimits{}, false};
        away.start(kStart);
        CHECK(away.deadline().has_value() == is_allowed);
        CHECK(away.is_due(kStart + seconds{1}) == is_allowed);
        CHECK(away.on_left(rank(3), {.id = 1, .standing = Standing::away}) == is_allowed);
        CHECK(away.is_fetching(rank(3)) == is_allowed);
    }
    CHECK(CoreConfig{}.policies.leave == LeavePolicy::never);
}

TEST_CASE("a configured rate, a small object and the acker's window have no pulses") {
    CoreConfig config = config_of(0, 9);
    config.policies.leave = LeavePolicy::congested;
    CHECK_FALSE(AwayMembers(config, LeaveLimits{}, false).is_on());
    config.rate_bytes_per_s = 0;
    CHECK(AwayMembers(config, LeaveLimits{}, false).is_on());
    CHECK_FALSE(AwayMembers(config, LeaveLimits{}, true).is_on());
    config.policies.rate = RatePolicy::acker;
    CHECK_FALSE(AwayMembers(config, LeaveLimits{}, false).is_on());
}
