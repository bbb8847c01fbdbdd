#include "tests/unit/core/parts.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/feedback/member_watch.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/readiness.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

RankSet all_of(unsigned members) {
    RankSet all{members};
    for (unsigned each = 0; each < members; ++each) {
        all.add(rank(each));
    }
    return all;
}

/// Where one failure ends the broadcast at most one is accused.
std::optional<Accusation> look(MemberWatch& watch,
                               Instant now,
                               const RankSet& ready,
                               const RankSet& done,
                               std::uint32_t sent) {
    auto accused = watch.poll(now, ready, done, done, sent);
    REQUIRE(accused.size() <= 1);
    return accused.empty() ? std::nullopt : std::optional{accused.front()};
}

}  // namespace

TEST_CASE("a silent or stuck member is named; a member that is done is not") {
    const CoreConfig config = config_of(0, 4);
    MemberWatch watch{config, {}, 100};
    CHECK_FALSE(watch.deadline());
    watch.start(kStart);
    RankSet done{4};
    const auto at = [&](Duration after, std::uint32_t sent) {
        return look(watch, kStart + after, all_of(4), done, sent);
    };
    for (int s = 1; s <= 8; ++s) {
        for (unsigned each = 1; each < 4; ++each) {
            watch.on_heard(kStart + seconds{s}, rank(each));
        }
        watch.on_report(kStart + seconds{s}, rank(1), static_cast<std::uint32_t>(s), 0);
        watch.on_moved(kStart + seconds{s}, rank(2));
    }
    CHECK_FALSE(at(milliseconds{7900}, 50));

    SECTION("a member that misses what was sent and stands still") {
        const auto named = at(milliseconds{8500}, 50);
        REQUIRE(named);
        CHECK(named->rank == rank(3));
        CHECK(named->why.find("no progress") != std::string::npos);
    }
    SECTION("one that holds all that was sent does not stand still") {
        CHECK_FALSE(at(milliseconds{8500}, 0));
    }
    SECTION("silent ones, the lowest first, the others counted") {
        watch.on_heard(kStart + seconds{16}, rank(2));
        watch.on_moved(kStart + seconds{16}, rank(2));
        const auto named = at(milliseconds{16'100}, 50);
        REQUIRE(named);
        CHECK(named->rank == rank(1));
        CHECK(named->why.find("nothing was heard") != std::string::npos);
        CHECK(named->why.find("(and 1 more node)") != std::string::npos);
    }
    SECTION("no member is heard: the source itself is named") {
        const auto named = at(milliseconds{16'100}, 50);
        REQUIRE(named);
        CHECK(named->rank == rank(0));
        CHECK(named->why.find("any of the 3 other nodes") != std::string::npos);
    }
    SECTION("a member that is done is not named") {
        for (unsigned each = 1; each < 4; ++each) {
            done.add(rank(each));
        }
        CHECK_FALSE(at(seconds{100}, 50));
    }
}

TEST_CASE(
    "a member that has not answered yet may be silent, and its time begins with the answer") {
    MemberWatch watch{config_of(0, 2), {}, 10};
    watch.start(kStart);
    RankSet ready{2};
    const RankSet done{2};
    CHECK_FALSE(look(watch, kStart + seconds{60}, ready, done, 10));
    ready.add(rank(1));
    watch.on_heard(kStart + seconds{61}, rank(1));
    watch.on_moved(kStart + seconds{61}, rank(1));
    CHECK_FALSE(look(watch, kStart + seconds{69}, ready, done, 10));
    const auto named = look(watch, kStart + seconds{70}, ready, done, 10);
    REQUIRE(named);
    CHECK(named->rank == rank(1));
}

TEST_CASE(
    "a member that fills holes in a block makes progress, though no block is complete yet") {
    MemberWatch watch{config_of(0, 2), {}, 10};
    watch.start(kStart);
    const RankSet done{2};
    for (unsigned s = 1; s <= 20; ++s) {
        watch.on_heard(kStart + seconds{s}, rank(1));
        watch.on_report(kStart + seconds{s}, rank(1), 0, s);
        CHECK_FALSE(look(watch, kStart + seconds{s}, all_of(2), done, 10));
    }
    watch.on_report(kStart + seconds{29}, rank(1), 0, 20);
    watch.on_heard(kStart + seconds{29}, rank(1));
    const auto named = look(watch, kStart + seconds{29}, all_of(2), done, 10);
    REQUIRE(named);
    CHECK(named->why.find("0 of 10 blocks") != std::string::npos);
}

TEST_CASE("giving files their names may take longer than a block") {
    MemberWatch watch{config_of(0, 2), {}, 10};
    watch.start(kStart);
    watch.on_report(kStart, rank(1), 10, 0);
    const RankSet done{2};
    for (int s = 1; s <= 31; ++s) {
        watch.on_heard(kStart + seconds{s}, rank(1));
        CHECK_FALSE(look(watch, kStart + seconds{s}, all_of(2), done, 10));
    }
    watch.on_heard(kStart + seconds{33}, rank(1));
    CHECK(look(watch, kStart + seconds{33}, all_of(2), done, 10));
}

TEST_CASE("the files' final names may take as much longer as all were configured to") {
    CoreConfig config = config_of(0, 2);
    config.finish_extra = seconds{100};
    MemberWatch watch{config, {}, 10};
    watch.start(kStart);
    watch.on_report(kStart, rank(1), 10, 0);
    const RankSet done{2};
    for (int s = 1; s <= 131; ++s) {
        watch.on_heard(kStart + seconds{s}, rank(1));
        CHECK_FALSE(look(watch, kStart + seconds{s}, all_of(2), done, 10));
    }
    watch.on_heard(kStart + seconds{133}, rank(1));
    CHECK(look(watch, kStart + seconds{133}, all_of(2), done, 10));
}

TEST_CASE("an offer is repeated until all have answered, or the missing are named") {
    Readiness readiness{config_of(0, 4), {.blocks = 3, .object_bytes = 300}, {}};
    readiness.start(kStart, Duration{});
    ControlQueue out{100};
    readiness.poll(kStart, out);
    const auto first = drained(out);
    REQUIRE(first.size() == 1);
    CHECK(first[0].to.to_group);
    // A path that drops the full packet is not found ready by any offer, a keep-alive's
    // included.
    CHECK(first[0].body.size() == 1000);
    CHECK(readiness.offer(kStart).size() == 1000);
    const auto offer = wire::read_offer(first[0].body);
    REQUIRE(offer);
    CHECK(offer->blocks == 3);
    CHECK(offer->chunk_bytes == 1000);
    readiness.on_ready(kStart + milliseconds{1},
                       kStart + milliseconds{1},
                       rank(1),
                       {.source_time_us = offer->source_time_us, .hold_us = 400},
                       true);
    CHECK(readiness.round_trip().mean() == microseconds{600});
    CHECK_FALSE(readiness.is_complete());
    CHECK_FALSE(readiness.accuse(kStart + seconds{4}));
    const auto named = readiness.accuse(kStart + seconds{5});
    REQUIRE(named);
    CHECK(named->rank == rank(2));
    CHECK(named->why.find("no datagram passes") == 0);
    CHECK(named->why.find("(and 1 more node)") != std::string::npos);
    CHECK(offer->awaited.size() == 1);  // 1, 2 and 3
    readiness.poll(kStart + milliseconds{2}, out);
    const auto second = wire::read_offer(drained(out).at(0).body);
    CHECK(second->awaited == std::vector<wire::RankRun>{{.first = rank(2), .last = rank(3)}});
    readiness.on_ready(kStart, kStart, rank(2), {.source_time_us = 1}, false);
    readiness.on_ready(kStart, kStart, rank(3), {.source_time_us = 1}, true);
    CHECK(readiness.is_complete());
    CHECK(readiness.held_by_all() == 0);  // 2 said nothing of it.
    CHECK(readiness.holders().count() == 2);
    CHECK_FALSE(readiness.holders().has(rank(2)));
    CHECK_FALSE(readiness.deadline());
    CHECK_FALSE(readiness.accuse(kStart + seconds{9}));
}

TEST_CASE("no member is awaited longer than is set, nor longer than ready_timeout") {
    Readiness readiness{config_of(0, 3), {.blocks = 3, .object_bytes = 300}, {}};
    readiness.start(kStart, Duration{});
    readiness.await_until(kStart + seconds{2});
    CHECK_FALSE(readiness.accuse(kStart + seconds{1}));
    const auto all = readiness.accuse(kStart + seconds{2});
    REQUIRE(all);
    CHECK(all->rank == rank(0));
    CHECK(all->why.find("no datagram of the 2 other nodes") == 0);
    readiness.on_ready(kStart, kStart, rank(2), {.source_time_us = 1}, false);
    CHECK(readiness.accuse(kStart + seconds{2})->rank == rank(1));
    readiness.await_until(kStart + seconds{100});
    CHECK_FALSE(readiness.accuse(kStart + seconds{4}));
    CHECK(readiness.accuse(kStart + seconds{5}));
}

TEST_CASE("what all hold is the least that one holds, once all have said so") {
    Readiness readiness{config_of(0, 4), {.blocks = 30, .object_bytes = 3000}, {}};
    readiness.start(kStart, Duration{});
    readiness.on_ready(
        kStart, kStart, rank(1), {.source_time_us = 1, .hold_us = 0, .held = 20}, false);
    readiness.on_ready(
        kStart, kStart, rank(2), {.source_time_us = 1, .hold_us = 0, .held = 25}, false);
    CHECK(readiness.held_by_all() == 0);
    readiness.on_ready(kStart, kStart, rank(3), {.source_time_us = 1}, true);  // All of it.
    CHECK(readiness.held_by_all() == 20);
}

TEST_CASE("a solicitation gets an OFFER soon, but simultaneous ones get one") {
    const Limits limits;
    const Duration least = limits.ending.call_least;
    Readiness readiness{config_of(0, 4), {.blocks = 3, .object_bytes = 300}, limits};
    readiness.start(kStart, Duration{});
    ControlQueue out{100};
    Instant now = kStart;
    for (int i = 0; i < 10; ++i) {  // Until offers are rare.
        readiness.poll(now, out);
        now = *readiness.deadline();
    }
    CHECK(now - kStart > milliseconds{100});
    static_cast<void>(drained(out));
    now -= milliseconds{10};
    readiness.on_ready(now, now, rank(1), {}, false);
    readiness.on_ready(now, now, rank(2), {}, false);
    CHECK(*readiness.deadline() <= now);
    CHECK(readiness.poll(now, out));
    CHECK(drained(out).size() == 1);
    CHECK_FALSE(readiness.ready().has(rank(1)));  // It heard none yet.
    const auto regular = readiness.deadline();
    readiness.on_ready(now + least / 2, now + least / 2, rank(2), {}, false);
    CHECK(readiness.deadline() == regular);  // It hears the one that just left.
    readiness.on_ready(now + least, now + least, rank(2), {}, false);
    CHECK(*readiness.deadline() >= now + least);
    CHECK(*readiness.deadline() <= now + limits.ending.offer_first);
    const auto before = readiness.deadline();
    readiness.on_ready(now + milliseconds{1}, now, rank(2), {}, false);
    CHECK(readiness.deadline() == before);  // It was called before, and read late.
}

TEST_CASE("no solicitation makes a source offer what it has not read") {
    Readiness readiness{config_of(0, 4), {.blocks = 1, .object_bytes = 100}, {}};
    readiness.start(kStart, milliseconds{20});
    readiness.on_ready(kStart, kStart, rank(1), {}, false);
    CHECK(readiness.deadline() == kStart + milliseconds{20});
    ControlQueue out{100};
    CHECK(readiness.poll(kStart + milliseconds{20}, out));
    const Instant later = kStart + milliseconds{21};
    readiness.on_ready(later, later, rank(1), {}, false);
    CHECK(*readiness.deadline() < later);
}

TEST_CASE(
    "only a member that solicited for long, and never answered, shows that large packets do "
    "not pass") {
    CoreConfig config = config_of(0, 4);
    config.chunk_bytes_fallback = 500;
    Readiness readiness{config, {.blocks = 3, .object_bytes = 300}, {}};
    const Duration timeout = EndingLimits{}.path_timeout;
    readiness.start(kStart, Duration{});
    const auto call = [&](Duration after, unsigned from) {
        readiness.on_ready(
            kStart + seconds{1} + after, kStart + seconds{1} + after, rank(from), {}, false);
        return readiness.should_be_careful();
    };
    CHECK_FALSE(call(Duration{}, 1));
    CHECK_FALSE(call(timeout / 2, 2));
    CHECK_FALSE(call(timeout - Duration{1}, 1));
    CHECK_FALSE(call(timeout, 3));  // It has just started.
    SECTION("it calls on") {
        CHECK(call(timeout, 1));
    }
    SECTION("it answers, another calls on") {
        readiness.on_ready(
            kStart + seconds{1}, kStart + seconds{1}, rank(1), {.source_time_us = 1}, false);
        CHECK_FALSE(call(timeout, 1));
        CHECK(call(timeout * 2, 2));
    }
    SECTION("where there are no smaller ones, nothing follows") {
        config.chunk_bytes_fallback = 0;
        Readiness other{config, {.blocks = 3, .object_bytes = 300}, {}};
        other.start(kStart, Duration{});
        other.on_ready(kStart + seconds{1}, kStart + seconds{1}, rank(1), {}, false);
        other.on_ready(kStart + seconds{9}, kStart + seconds{9}, rank(1), {}, false);
        CHECK_FALSE(other.should_be_careful());
    }
}

TEST_CASE("a solicitation of a member that has answered changes nothing") {
    Readiness readiness{config_of(0, 3), {.blocks = 3, .object_bytes = 300}, {}};
    readiness.start(kStart, Duration{});
    ControlQueue out{100};
    readiness.poll(kStart, out);
    readiness.on_ready(kStart, kStart, rank(1), {.source_time_us = 1}, false);
    const auto before = readiness.deadline();
    readiness.on_ready(kStart, kStart, rank(1), {}, false);
    CHECK(readiness.deadline() == before);
}

TEST_CASE("a small object's offer waits for its descriptors, and nothing leaves before it") {
    CoreConfig config = config_of(0, 3);
    config.policies.readiness = ReadinessPolicy::none;
    Readiness readiness{config, {.blocks = 2, .object_bytes = 300}, {}};
    readiness.start(kStart, milliseconds{2});
    ControlQueue out{100};
    CHECK_FALSE(readiness.poll(kStart, out));
    DescriptorTable table{2, 2};
    table.learn(block(0), raw_block(100));
    table.learn(block(1), raw_block(200));
    readiness.on_ready(kStart, kStart, rank(1), {.source_time_us = 1}, false);
    readiness.on_done({{.first = rank(2), .last = rank(2)}});
    CHECK(readiness.is_complete());
    CHECK_FALSE(readiness.may_begin());
    readiness.add(kStart, table);
    CHECK(readiness.poll(kStart, out));
    CHECK(readiness.may_begin());
    const auto sent = drained(out);
    CHECK(sent.at(0).count == ParityLimits{}.offers);
    CHECK(wire::read_offer(sent.at(0).body)->descriptors.size() == 2);
    CHECK_FALSE(readiness.deadline());  // All had answered.
}

TEST_CASE("where failed members are dropped, all of them are named at once, each by itself") {
    CoreConfig config = config_of(0, 5);
    config.drops_failed = true;
    MemberWatch watch{config, {}, 100};
    watch.start(kStart);
    RankSet done{5};
    RankSet settled{5};
    settled.add(rank(4));  // dropped before
    const Instant late = kStart + config.stall_timeout + seconds{1};
    SECTION("two of three are silent") {
        watch.on_heard(late, rank(2));
        watch.on_moved(late, rank(2));
        const auto accused = watch.poll(late, all_of(5), done, settled, 50);
        REQUIRE(accused.size() == 2);
        CHECK(accused[0].rank == rank(1));
        CHECK(accused[1].rank == rank(3));
        CHECK(accused[0].why.find("more node") == std::string::npos);
    }
    SECTION("all are silent: it is the source that hears nothing") {
        const auto accused = watch.poll(late, all_of(5), done, settled, 50);
        REQUIRE(accused.size() == 1);
        CHECK(accused[0].rank == rank(0));
    }
    SECTION("all that are left are silent, and others hold the object") {
        done.add(rank(2));
        settled.add(rank(2));
        const auto accused = watch.poll(late, all_of(5), done, settled, 50);
        REQUIRE(accused.size() == 2);
        CHECK(accused[0].rank == rank(1));
        CHECK(accused[1].rank == rank(3));
    }
}

TEST_CASE("one failed member fails the group, the first reason stands") {
    BroadcastResult result{config_of(0, 3)};
    result.on_done(rank(0));
    result.on_done(rank(1));
    CHECK_FALSE(result.is_success());
    SECTION("all hold it") {
        result.on_done(rank(2));
        CHECK(result.is_success());
        CHECK_FALSE(result.failure());
    }
    SECTION("one can't") {
        CHECK_FALSE(result.on_failed(rank(2), {Blame::user, "disk full"}));
        CHECK_FALSE(result.on_failed(rank(0), {Blame::node, "later"}));
        result.on_done(rank(2));
        CHECK_FALSE(result.is_success());
        REQUIRE(result.failure());
        CHECK(result.failure()->rank == rank(2));
        CHECK(result.failure()->why.sentence() == "disk full");
    }
}

TEST_CASE("a failed receiver is dropped where the site wants it, and the others succeed") {
    CoreConfig config = config_of(0, 4);
    config.drops_failed = true;
    BroadcastResult result{config};
    result.on_done(rank(0));
    result.on_done(rank(1));
    CHECK(result.on_failed(rank(3), {Blame::node, "silent"}));
    CHECK_FALSE(result.on_failed(rank(3), {Blame::node, "again"}));
    CHECK_FALSE(result.on_failed(rank(1), {Blame::node, "killed"}));  // it is done
    CHECK_FALSE(result.is_success());
    SECTION("the rest hold it") {
        result.on_done(rank(2));
        CHECK(result.is_success());
        REQUIRE(result.dropped().size() == 1);
        CHECK(result.dropped()[0].rank == rank(3));
        CHECK(result.dropped()[0].why.sentence() == "silent");
    }
    SECTION("it holds the object after all") {
        const wire::RankRun late{.first = rank(2), .last = rank(3)};
        result.on_done({&late, 1});
        CHECK(result.is_success());
        CHECK(result.dropped().empty());
    }
    SECTION("the source can't go on") {
        CHECK_FALSE(result.on_failed(rank(0), {Blame::user, "the file changed"}));
        result.on_done(rank(2));
        CHECK_FALSE(result.is_success());
        CHECK(result.failure()->rank == rank(0));
    }
}

TEST_CASE("a broadcast that reached no receiver is no success") {
    CoreConfig config = config_of(0, 3);
    config.drops_failed = true;
    BroadcastResult result{config};
    result.on_done(rank(0));
    CHECK(result.on_failed(rank(2), {Blame::node, "silent"}));
    CHECK_FALSE(result.failure());
    CHECK(result.on_failed(rank(1), {Blame::user, "disk full"}));
    CHECK_FALSE(result.is_success());
    REQUIRE(result.failure());
    CHECK(result.failure()->rank == rank(2));
}

TEST_CASE("a reason is cut between characters") {
    std::string text;
    for (int i = 0; i < 600; ++i) {
        text += "\xc3\xa4";
    }
    CHECK(why_of(Error{Blame::user, "short"}) == "short");
    const std::string cut = why_of(Error{Blame::user, "x" + text});
    CHECK(cut.size() <= 900);
    CHECK(cut.size() >= 897);
    CHECK(cut.substr(cut.size() - 2) == "\xc3\xa4");
}

TEST_CASE("a member that fails repeats LEAVE until RELEASE arrives, and not for ever") {
    MemberEnding ending{config_of(1, 4), {}, false};
    ending.on_failure(kStart, Error{Blame::user, "disk full"});
    ControlQueue out{100};
    int said = 0;
    while (ending.deadline()) {
        ending.poll(*ending.deadline(), out);
        for (const Send& send : drained(out)) {
            CHECK(send.type == wire::PacketType::leave);
            CHECK(wire::read_ending(send.body)->why == "disk full");
            ++said;
        }
    }
    CHECK(said == 9);

    MemberEnding heard{config_of(1, 4), {}, false};
    heard.on_failure(kStart, Error{Blame::user, "disk full"});
    heard.on_release(kStart, {.outcome = 1, .rank = rank(1), .why = "disk full"}, out);
    CHECK_FALSE(heard.deadline());
    const auto confirmed = drained(out);
    REQUIRE(confirmed.size() == 1);
    CHECK(confirmed[0].type == wire::PacketType::done_ack);
}

TEST_CASE("an inner member stays a moment to pass RELEASE on to members that missed it") {
    MemberEnding ending{config_of(1, 100), {}, true};
    ControlQueue out{100};
    ending.answer(rank(9), out);
    CHECK(out.is_empty());
    ending.on_release(kStart, {.outcome = 0, .rank = rank(0), .why = {}}, out);
    CHECK(out.is_empty());  // too many to confirm
    REQUIRE(ending.deadline());
    ending.answer(rank(9), out);
    CHECK(drained(out).at(0).type == wire::PacketType::release);
    ending.poll(*ending.deadline(), out);
    CHECK_FALSE(ending.deadline());
}
