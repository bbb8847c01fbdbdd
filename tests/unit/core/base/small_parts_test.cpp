#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"
#include "transport/core/base/chunk_set.h"
#include "transport/core/base/highest_received.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/repeater.h"
#include "transport/core/membership/offer_solicitation.h"
#include "transport/core/receiver/stream_wait.h"
#include "transport/core/repair/repair_rate_search.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/rtt_estimator.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a chunk set is a set") {
    const auto capacity = GENERATE(1U, 63U, 64U, 65U, 727U, 2048U);
    CAPTURE(capacity);
    Prng prng{capacity};
    ChunkSet chunks{capacity};
    std::set<std::uint32_t> expected;
    for (int i = 0; i < 2000; ++i) {
        const auto chunk = static_cast<std::uint32_t>(prng.below(capacity));
        if (prng.below(3) != 0) {
            CHECK(chunks.add(chunk) == expected.insert(chunk).second);
        } else {
            CHECK(chunks.remove(chunk) == (expected.erase(chunk) == 1));
        }
        REQUIRE(chunks.count() == expected.size());
        const auto from = static_cast<std::uint32_t>(prng.below(capacity + 1));
        const auto next = expected.lower_bound(from);
        CHECK(chunks.next(from) == (next == expected.end() ? capacity : *next));
        std::uint32_t absent = from;
        while (absent < capacity && expected.contains(absent)) {
            ++absent;
        }
        CHECK(chunks.next_absent(from) == std::min(absent, capacity));
    }
    CHECK_FALSE(chunks.has(capacity));
    CHECK_FALSE(chunks.remove(capacity));
    chunks.clear();
    CHECK(chunks.is_empty());
    CHECK(chunks.next(0) == capacity);
}

TEST_CASE("what is repeated doubles its gap up to the bound, so often as wanted") {
    Repeater repeater{{.first = milliseconds{5}, .max = milliseconds{15}, .times = 4}};
    CHECK_FALSE(repeater.is_due(kStart));
    repeater.start(kStart);
    CHECK(repeater.is_due(kStart));
    CHECK_FALSE(repeater.is_due(kStart));
    CHECK(repeater.deadline() == kStart + milliseconds{5});
    CHECK(repeater.is_due(kStart + milliseconds{5}));
    CHECK(repeater.deadline() == kStart + milliseconds{15});
    CHECK(repeater.is_due(kStart + milliseconds{15}));
    CHECK(repeater.deadline() == kStart + milliseconds{30});
    CHECK(repeater.is_due(kStart + milliseconds{30}));
    CHECK_FALSE(repeater.is_running());
    repeater.start(kStart);
    repeater.stop();
    CHECK_FALSE(repeater.deadline());
}

TEST_CASE("the time-out follows what was seen, and backs off") {
    RttEstimator trip{
        {.first = milliseconds{20}, .margin_min = microseconds{500}, .max = seconds{1}}};
    CHECK_FALSE(trip.is_known());
    CHECK(trip.timeout(0) == milliseconds{20});
    CHECK(trip.timeout(1) == milliseconds{40});
    for (int i = 0; i < 100; ++i) {
        trip.on_sample(microseconds{200});
    }
    CHECK(trip.mean() >= microseconds{199});
    CHECK(trip.mean() <= microseconds{201});
    CHECK(trip.timeout(0) <= microseconds{702});
    CHECK(trip.timeout(3) <= microseconds{5616});
    for (int i = 0; i < 100; ++i) {
        trip.on_sample(milliseconds{i % 2 == 0 ? 1 : 9});
    }
    CHECK(trip.timeout(0) > milliseconds{9});
    CHECK(trip.timeout(200) == milliseconds{64} * 16 - milliseconds{24});
}

TEST_CASE("what is missing counts after a while and three packets") {
    HighestReceived highest_received;
    constexpr Duration kAge = milliseconds{1};
    CHECK_FALSE(highest_received.advance(kStart, kAge));
    highest_received.on_chunk(kStart, {.block = 0, .chunk = 4});
    CHECK_FALSE(highest_received.advance(kStart, kAge));
    CHECK(highest_received.settled() == Position{});

    SECTION("time alone is not enough while packets come") {
        CHECK_FALSE(highest_received.advance(kStart + kAge, kAge));
        highest_received.on_chunk(kStart + kAge, {.block = 0, .chunk = 5});
        highest_received.on_chunk(kStart + kAge, {.block = 0, .chunk = 6});
        CHECK_FALSE(highest_received.advance(kStart + kAge, kAge));
        highest_received.on_chunk(kStart + kAge, {.block = 0, .chunk = 7});
        CHECK(highest_received.advance(kStart + kAge, kAge));
        CHECK(highest_received.settled() == Position{.block = 0, .chunk = 5});
    }
    SECTION("a stream that stands still settles by time") {
        CHECK(highest_received.advance(kStart + 8 * kAge, kAge));
        CHECK(highest_received.settled() == Position{.block = 0, .chunk = 5});
        CHECK_FALSE(highest_received.deadline());
    }
    SECTION("the end settles everything, once") {
        highest_received.on_end(kStart, 3);
        CHECK_FALSE(highest_received.advance(kStart + kAge - Duration{1}, kAge));
        CHECK(highest_received.advance(kStart + kAge, kAge));
        CHECK(highest_received.settled() == Position{.block = 3, .chunk = 0});
        highest_received.on_end(kStart + 3 * kAge, 3);
        CHECK_FALSE(highest_received.deadline());
    }
    SECTION("an earlier chunk moves nothing") {
        highest_received.on_chunk(kStart, {.block = 0, .chunk = 2});
        CHECK(highest_received.highest() == Position{.block = 0, .chunk = 5});
    }
}

TEST_CASE("a queue of control packets is bounded and numbers each once") {
    ControlQueue queue{3};
    for (int i = 0; i < 5; ++i) {
        queue.push_peer(wire::PacketType::ready, rank(1), {std::byte{7}});
    }
    Numbering numbers;
    SendBatch batch;
    batch.packets_max = 2;
    CHECK(queue.drain(batch, numbers) == std::uint64_t{2} * (1 + kWireOverheadBytes));
    REQUIRE(batch.sends.size() == 2);
    CHECK(batch.sends[0].packet_number == 1);
    CHECK(batch.sends[1].packet_number == 2);
    CHECK(batch.full());
    CHECK_FALSE(queue.is_empty());
    CHECK(numbers.last() == 2);
}

TEST_CASE("a disk is stuck when something waits and nothing is completed") {
    DiskWatch watch;
    Operation store;
    store.kind = OperationKind::store;
    Operation place;
    place.kind = OperationKind::place;
    watch.on_ordered(kStart, place);
    CHECK_FALSE(watch.is_stuck(kStart + seconds{100}, seconds{1}));
    watch.on_ordered(kStart, store);
    watch.on_ordered(kStart + milliseconds{900}, store);
    CHECK_FALSE(watch.is_stuck(kStart + seconds{1}, seconds{1}));
    CHECK(watch.is_stuck(kStart + milliseconds{1001}, seconds{1}));
    watch.on_completed(kStart + seconds{1});
    CHECK_FALSE(watch.is_stuck(kStart + milliseconds{1900}, seconds{1}));
    CHECK(watch.is_stuck(kStart + milliseconds{2001}, seconds{1}));
    watch.on_completed(kStart + seconds{3});
    CHECK_FALSE(watch.is_stuck(kStart + seconds{100}, seconds{1}));
}

TEST_CASE("operations go on to the driver in their order, and those of the disk are watched") {
    DiskWatch watch;
    OperationQueue waiting;
    waiting.push_drop(Ticket{1});
    waiting.push_finish(Ticket{2});
    OperationBatch batch;
    batch.operations_max = 1;
    watch.order(kStart, waiting, batch);
    REQUIRE(batch.operations.size() == 1);
    CHECK(batch.operations[0].kind == OperationKind::drop);
    CHECK(batch.operations[0].ticket == Ticket{1});
    CHECK_FALSE(watch.is_busy());
    batch.operations_max = 3;
    watch.order(kStart, waiting, batch);
    REQUIRE(batch.operations.size() == 2);
    CHECK(batch.operations[1].kind == OperationKind::finish);
    CHECK(batch.operations[1].ticket == Ticket{2});
    CHECK(watch.is_busy());
}

TEST_CASE("a disk doesn't answer for the time in which a store waited for an earlier block") {
    DiskWatch watch;
    Operation store;
    store.kind = OperationKind::store;
    watch.look(kStart, false);
    watch.on_ordered(kStart, store);
    watch.look(kStart + seconds{9}, false);
    watch.on_ordered(kStart + seconds{10}, store);  // of the first block
    watch.look(kStart + seconds{10}, true);
    CHECK_FALSE(watch.is_stuck(kStart + seconds{11}, seconds{1}));
    watch.look(kStart + milliseconds{10'500}, true);
    CHECK(watch.is_stuck(kStart + milliseconds{11'001}, seconds{1}));
}

TEST_CASE("a stream waits for room from when it ran out, and no longer than that is worth") {
    constexpr std::uint64_t kRate = 125'000'000;
    StreamWait wait{milliseconds{100}, 64U << 20U};
    const Instant begin{seconds{5}};
    wait.look(begin, false, kRate);
    CHECK(wait.until() < begin);
    wait.look(begin, true, kRate);
    CHECK(wait.until() == begin + milliseconds{100});
    wait.look(begin + milliseconds{300}, true, kRate);
    CHECK(wait.until() == begin + milliseconds{100});
    wait.look(begin + milliseconds{301}, false, kRate);
    CHECK(wait.until() < begin);
    wait.look(begin + milliseconds{302}, true, kRate);
    CHECK(wait.until() == begin + milliseconds{402});
}

TEST_CASE("a stream waits no longer than half of its socket's buffer holds") {
    const Instant begin{seconds{5}};
    const auto waits = [&](std::uint64_t buffer, std::uint64_t rate) {
        StreamWait wait{milliseconds{100}, buffer};
        wait.look(begin, true, rate);
        return std::max(wait.until() - begin, Duration::zero());
    };
    CHECK(waits(8'000'000, 125'000'000) == milliseconds{32});
    CHECK(waits(8'000'000, 1'250'000'000) == Duration::zero());  // 3 ms: no disk is so fast.
    CHECK(waits(425'984, 125'000'000) == Duration::zero());
    CHECK(waits(425'984, 1'000'000) == milliseconds{100});
    CHECK(waits(0, 125'000'000) == Duration::zero());
    CHECK(waits(8'000'000, 0) == Duration::zero());  // It is not known how soon it is full.
}

TEST_CASE("the repair rate rises with answers, and falls to what the path carried") {
    constexpr std::uint32_t kPacket = 1'500;
    constexpr std::uint64_t kLink = 3'000'000;  // 2 packets a millisecond
    RepairRateSearch search{kPacket};
    Instant now{seconds{7}};
    std::uint64_t rate = 6'000'000;
    const auto request = [&](unsigned given, unsigned lost, Instant sent_at) {
        for (unsigned i = 0; i < given; ++i) {
            search.on_arrival(now);
        }
        rate = search.on_request(now, sent_at, given, lost, rate);
    };
    for (unsigned i = 0; i < 16; ++i) {  // (The first ones begin the count.)
        request(16, 0, now);
    }
    CHECK(rate > 9'000'000);
    rate = 6'000'000;
    // Half of each request is lost: the rate changes only when enough was lost to exclude
    // chance.
    const Instant sent_at = now;
    for (unsigned i = 0; i < 7; ++i) {
        now += milliseconds{4};
        request(8, 8, sent_at);
        CHECK(rate == 6'000'000);
    }
    now += milliseconds{4};
    request(8, 8, sent_at);
    CHECK(rate == kLink);
    // What waited in the same queue says it once more, and isn't heard.
    for (unsigned i = 0; i < 16; ++i) {
        request(0, 16, sent_at);
    }
    CHECK(rate == kLink);
    // From there it rises slowly.
    now += milliseconds{1};
    for (unsigned i = 0; i < 16; ++i) {
        request(16, 0, now);
    }
    CHECK(rate > kLink * 110 / 100);
    CHECK(rate < kLink * 115 / 100);
    // A path that stands still takes nothing, and that says nothing of what it takes.
    for (unsigned i = 0; i < 4; ++i) {
        now += seconds{1};
        request(0, 64, now);
    }
    CHECK(rate < kLink / 8);
    for (unsigned i = 0; i < 64; ++i) {
        now += milliseconds{1};
        request(16, 0, now);
    }
    CHECK(rate > kLink / 2);
}

TEST_CASE("time in which nothing was asked for says nothing of a path") {
    constexpr std::uint64_t kLink = 3'000'000;
    RepairRateSearch search{1'500};
    std::uint64_t rate = 4'000'000;
    for (unsigned i = 1; i <= 8; ++i) {
        const Instant begin{seconds{7 * i}};
        search.on_ask_anew(begin);
        for (unsigned chunk = 0; chunk < 8; ++chunk) {
            search.on_arrival(begin + milliseconds{2});
        }
        rate = search.on_request(begin + milliseconds{4}, begin, 8, 8, rate);
    }
    CHECK(rate == kLink);
}

TEST_CASE("a path that delivers nothing halves the repair rate, no more at once") {
    RepairRateSearch search{1'500};
    const Instant now{seconds{7}};
    std::uint64_t rate = 8'000'000;
    for (unsigned i = 0; i < 4; ++i) {
        rate = search.on_request(now, now, 0, 16, rate);
    }
    CHECK(rate == 4'000'000);
}

TEST_CASE("one chunk of sixteen is random loss: the repair rate rises") {
    RepairRateSearch search{1'500};
    Instant now{seconds{7}};
    std::uint64_t rate = 8'000'000;
    for (unsigned i = 0; i < 64; ++i) {
        now += milliseconds{1};
        rate = search.on_request(now, now, i % 20 == 0 ? 0 : 15, i % 20 == 0 ? 16 : 1, rate);
    }
    CHECK(rate > 40'000'000);
}

TEST_CASE("a repeater's next time may come sooner, not later") {
    Repeater repeater{{.first = milliseconds{8}, .max = milliseconds{100}}};
    repeater.hasten(kStart);
    CHECK_FALSE(repeater.deadline());
    repeater.start(kStart);
    CHECK(repeater.is_due(kStart));
    repeater.hasten(kStart + milliseconds{3});
    CHECK(repeater.deadline() == kStart + milliseconds{3});
    repeater.hasten(kStart + milliseconds{5});
    CHECK(repeater.deadline() == kStart + milliseconds{3});
}

TEST_CASE("a member that heard nothing solicits, ever more rarely, until an OFFER arrives") {
    Prng prng{3};
    const EndingLimits limits;
    OfferSolicitation call{config_of(2, 40), limits, prng};
    ControlQueue out{100};
    call.start(kStart);
    REQUIRE(call.deadline());
    CHECK(*call.deadline() - kStart < limits.ready_jitter * 40);
    call.poll(*call.deadline(), out);
    const auto sent = drained(out);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].type == wire::PacketType::ready);
    CHECK_FALSE(sent[0].to.to_group);
    CHECK(wire::read_ready(sent[0].body)->source_time_us == 0);
    const Instant next = *call.deadline();
    CHECK(next - kStart >= limits.call_first);
    call.on_stream(kStart + milliseconds{1});  // The source is there: its offer was lost.
    CHECK(*call.deadline() == kStart + milliseconds{1});
    call.on_offer();
    CHECK_FALSE(call.deadline());
}

TEST_CASE("READY states how many first blocks are held") {
    Prng prng{3};
    ReadyResponder answer{config_of(2, 40), {}, prng};
    answer.hold(7);
    wire::Offer offer;
    offer.blocks = 10;
    answer.on_offer(kStart, offer, false);
    ControlQueue out{16};
    answer.poll(kStart, out);
    const auto said = wire::read_ready(drained(out).at(0).body);
    REQUIRE(said);
    CHECK(said->held == 7);
}

TEST_CASE("an OFFER is answered by the members that it lists, or by all") {
    Prng prng{3};
    ReadyResponder answer{config_of(2, 40), {}, prng};
    wire::Offer offer;
    offer.blocks = 1;
    offer.awaited = {{.first = rank(3), .last = rank(9)}};
    answer.on_offer(kStart, offer, false);
    CHECK_FALSE(answer.deadline());
    SECTION("all") {
        offer.awaited.clear();
        answer.on_offer(kStart, offer, false);
        CHECK(answer.deadline() == kStart);
    }
    SECTION("this one") {
        offer.awaited.push_back({.first = rank(2), .last = rank(2)});
        answer.on_offer(kStart, offer, false);
        CHECK(answer.deadline() == kStart);
    }
    SECTION("a member that will soon send DONE has time") {
        offer.awaited.clear();
        answer.on_offer(kStart, offer, true);
        CHECK(answer.deadline() == kStart + EndingLimits{}.offer_max);
        answer.stop();
        CHECK_FALSE(answer.deadline());
    }
}
