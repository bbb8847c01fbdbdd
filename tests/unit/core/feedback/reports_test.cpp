#include "tests/unit/core/parts.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/report_board.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/feedback/representatives.h"
#include "transport/core/membership/ready_responder.h"
#include "transport/core/rate/burst_search.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("in a small group all receivers represent, and none is named") {
    for (const unsigned members : {2U, 3U, 33U}) {
        CoreConfig config = config_of(0, members);
        config.source = rank(members / 2);
        Prng prng{1};
        const Representatives drawn{config, {}, prng};
        CHECK_FALSE(drawn.named());
        CHECK(drawn.ranks().size() == members - 1);
        CHECK_FALSE(drawn.has(config.source));
        CHECK(representatives_of(config, {}) == members - 1);
    }
}

TEST_CASE("in a large group the source draws them, by no stride") {
    for (const unsigned members : {34U, 1000U, 65535U}) {
        CoreConfig config = config_of(0, members);
        std::set<std::vector<Rank>> sets;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            Prng prng{seed};
            const Representatives drawn{config, {}, prng};
            REQUIRE(drawn.named());
            CHECK(drawn.named()->version == 1);
            CHECK(drawn.named()->ranks == drawn.ranks());
            const std::set<Rank> different{drawn.named()->ranks.begin(),
                                           drawn.named()->ranks.end()};
            CHECK(different.size() == 32);
            CHECK_FALSE(drawn.has(config.source));
            CHECK(*different.rbegin() < rank(members));
            sets.insert(drawn.ranks());
        }
        CHECK(sets.size() >= (members > 34 ? 20U : 2U));
    }
}

TEST_CASE("a silent representative is replaced, and one that cannot represent") {
    const CoreConfig config = config_of(0, 1000);
    Prng prng{1};
    Representatives drawn{config, {}, prng};
    const auto first = drawn.ranks();
    const auto anyone = [](Rank) { return true; };
    CHECK_FALSE(drawn.deadline());
    drawn.start(kStart);
    Instant now = kStart;
    for (int turn = 0; turn < 8; ++turn) {
        now = *drawn.deadline();
        for (const Rank each : drawn.ranks()) {
            if (each != first[3]) {
                drawn.on_report(now, each);
            }
        }
        CHECK(drawn.poll(now, anyone) == (turn == 5));
    }
    CHECK_FALSE(drawn.has(first[3]));
    CHECK(drawn.ranks().size() == 32);
    CHECK(drawn.named()->version == 2);

    now = *drawn.deadline();
    const auto not_fifth = [&](Rank each) { return each != first[5]; };
    for (const Rank each : drawn.ranks()) {
        drawn.on_report(now, each);
    }
    CHECK(drawn.poll(now, not_fifth));
    CHECK_FALSE(drawn.has(first[5]));

    // No other is left: the silent ones stay, and those that cannot go.
    now = *drawn.deadline();
    const auto left = drawn.ranks();
    const auto old_ones = [&](Rank each) {
        return each != left[0] && std::ranges::find(left, each) != left.end();
    };
    CHECK(drawn.poll(now, old_ones));
    CHECK(drawn.ranks().size() == 31);
    // After a stop of this process all seem silent.
    const auto before = drawn.ranks();
    now += seconds{10};
    static_cast<void>(drawn.poll(now, anyone));
    CHECK(std::ranges::includes(drawn.ranks(), before));
}

TEST_CASE("a receiver represents as long as the newest set names it") {
    Prng prng{1};
    Reporter reporter{config_of(7, 1000), {}, prng};
    ChunkMap map{4, 100, 4};
    HighestReceived highest_received;
    ControlQueue out{1000};
    reporter.poll(kStart, highest_received, map, 0, out);
    Instant now = kStart;
    const auto reports = [&](Duration time) {
        int count = 0;
        for (const Instant end = now + time; now < end; now += milliseconds{1}) {
            reporter.poll(now, highest_received, map, 0, out);
            count += static_cast<int>(drained(out).size());
        }
        return count;
    };
    CHECK(reports(milliseconds{500}) <= 1);
    reporter.on_named(now, {.version = 2, .ranks = {rank(3), rank(7)}});
    CHECK(reports(milliseconds{500}) >= 20);
    reporter.on_named(now, {.version = 1, .ranks = {rank(3)}});  // an older one
    CHECK(reports(milliseconds{500}) >= 20);
    reporter.on_named(now, {.version = 3, .ranks = {rank(3)}});
    CHECK(reports(milliseconds{500}) <= 1);
}

TEST_CASE("the window follows the representatives that are drawn, from their first report") {
    ReportBoard board{config_of(0, 100), {}};  // a window of 6 blocks
    const auto report = [&](unsigned from, std::uint32_t held) {
        wire::Report body;
        body.blocks_held = held;
        board.on_report(kStart, rank(from), body);
    };
    CHECK(board.window_below(kStart, 0) > 1'000'000);
    board.represent(kStart, {rank(1), rank(2), rank(3)});
    CHECK(board.window_below(kStart, 0) == 6);
    report(1, 10);
    report(2, 12);
    CHECK(board.window_below(kStart, 0) == 16);
    report(9, 50);
    report(9, 60);
    CHECK(board.window_below(kStart, 0) == 16);
    board.represent(kStart, {rank(2), rank(9), rank(10)});
    CHECK(board.window_below(kStart, 0) == 18);  // of the one that has reported
    report(9, 60);
    report(10, 61);
    CHECK(board.window_below(kStart, 0) == 66);
}

TEST_CASE("a representative reports what is newly missing, once") {
    Prng prng{1};
    Reporter reporter{config_of(1, 4), {}, prng};
    ChunkMap map{4, 100, 4};
    OpenBlock* open = map.open(block(0));
    open->chunks = 10;
    for (const unsigned chunk : {0U, 1U, 4U, 9U}) {
        open->have.add(chunk);
    }
    HighestReceived highest_received;
    for (const unsigned chunk : {0U, 1U, 4U, 9U}) {
        highest_received.on_chunk(kStart, {.block = 0, .chunk = chunk});
    }
    highest_received.advance(kStart + seconds{1}, milliseconds{1});
    reporter.on_packet(kStart, arrival(1, kStart));
    ControlQueue out{10};
    reporter.poll(kStart, highest_received, map, 0, out);
    reporter.on_packet(kStart, arrival(100, kStart + milliseconds{2}));
    reporter.poll(kStart + milliseconds{25}, highest_received, map, 0, out);
    auto sends = drained(out);
    REQUIRE(sends.size() == 1);
    auto report = *wire::read_report(sends[0].body);
    CHECK(report.mark == 100);
    CHECK(report.span == 99);
    CHECK(report.heard == 2);
    CHECK(report.missing == std::vector<wire::ChunkRun>{});  // nothing settled yet but chunk 0

    highest_received.on_end(kStart + seconds{1}, 4);
    highest_received.advance(kStart + seconds{2}, milliseconds{1});
    reporter.poll(kStart + milliseconds{70}, highest_received, map, 0, out);
    sends = drained(out);
    REQUIRE(sends.size() == 1);
    report = *wire::read_report(sends[0].body);
    CHECK(report.missing ==
          std::vector<wire::ChunkRun>{{.block = block(0), .first = 2, .count = 2},
                                      {.block = block(0), .first = 5, .count = 4}});
    reporter.poll(kStart + seconds{5}, highest_received, map, 0, out);
    CHECK(wire::read_report(drained(out).at(0).body)->missing.empty());
}

TEST_CASE("a young stream is reported on often, a long one so that the source can hear all") {
    Prng prng{1};
    Reporter reporter{config_of(1, 4), {}, prng};
    ChunkMap map{4, 100, 4};
    HighestReceived highest_received;
    ControlQueue out{10'000};
    reporter.poll(kStart, highest_received, map, 0, out);
    std::vector<std::uint64_t> reported;
    Instant now = kStart + milliseconds{1};
    for (std::uint64_t number = 1; number <= 10'000; ++number) {
        now += microseconds{100};
        reporter.on_packet(now, arrival(number, now));
        reporter.poll(now, highest_received, map, 0, out);
        if (!drained(out).empty()) {
            reported.push_back(number);
        }
    }
    REQUIRE(reported.size() > 8);
    CHECK(reported[1] - reported[0] == 8);
    const std::size_t last = reported.size() - 1;
    CHECK(reported[last] - reported[last - 1] == 32);  // 8 times (3 representatives + 1)
}

TEST_CASE("a report that is due after some packets needs no further one to come") {
    Prng prng{1};
    Reporter reporter{config_of(1, 4), {}, prng};
    ChunkMap map{4, 100, 4};
    HighestReceived highest_received;
    ControlQueue out{100};
    reporter.poll(kStart, highest_received, map, 0, out);
    for (std::uint64_t number = 1; number <= 7; ++number) {
        reporter.on_packet(kStart, arrival(number, kStart));
    }
    CHECK(*reporter.deadline(map) > kStart + milliseconds{1});
    reporter.on_packet(kStart, arrival(8, kStart));
    CHECK(*reporter.deadline(map) == kStart + microseconds{100});
    reporter.poll(kStart + microseconds{100}, highest_received, map, 0, out);
    CHECK(drained(out).size() == 1);
    CHECK(*reporter.deadline(map) > kStart + milliseconds{1});
}

TEST_CASE("signs of life of any group are so rare that the source hears them all") {
    for (const unsigned members : {100U, 16'000U, 65'535U}) {
        CAPTURE(members);
        CoreConfig config = config_of(2, members);
        config.stall_timeout = seconds{1};
        Prng prng{1};
        Reporter reporter{config, {}, prng};
        reporter.be_rare();
        ChunkMap map{4, 100, 4};
        HighestReceived highest_received;
        ControlQueue out{1000};
        int reports = 0;
        for (Instant now = kStart; now < kStart + seconds{60}; now += milliseconds{5}) {
            reporter.poll(now, highest_received, map, 0, out);
            reports += static_cast<int>(drained(out).size());
        }
        CHECK(static_cast<unsigned>(reports) * members <= 60U * 10'000U);
        CHECK(reports >= 8);
        // And the source waits for several of them before it calls a member silent.
        CHECK(member_timeout(config, {}) >= 4 * heartbeat_every(config, {}));
    }
}

TEST_CASE("READYs of any group come no faster than the source can derive their keys") {
    for (const unsigned members : {1000U, 16'000U, 65'535U}) {
        CAPTURE(members);
        Prng prng{7};
        Duration longest{};
        for (int draw = 0; draw < 1000; ++draw) {
            longest = std::max(longest, answer_wait(config_of(1, members), {}, prng));
        }
        CHECK(longest > microseconds{14} * members);
        CHECK(longest <= microseconds{15} * members);
    }
}

TEST_CASE("of a slow stream 32 members report no more than it has packets") {
    Prng prng{1};
    Reporter reporter{config_of(1, 65), {}, prng};
    reporter.on_named(kStart, {.version = 1, .ranks = {rank(1)}});
    ChunkMap map{4, 100, 4};
    HighestReceived highest_received;
    ControlQueue out{10'000};
    reporter.poll(kStart, highest_received, map, 0, out);
    constexpr int kPackets = 3000;
    int reports = 0;
    Instant now = kStart;
    for (std::uint64_t number = 1; number <= kPackets; ++number) {
        now += milliseconds{1};
        reporter.on_packet(now, arrival(number, now));
        reporter.poll(now, highest_received, map, 0, out);
        reports += static_cast<int>(drained(out).size());
    }
    CHECK(reports * 32 < kPackets * 3 / 4);
    CHECK(reports * 32 > kPackets * 2 / 5);
}

TEST_CASE("a receiver that is no representative reports just often enough not to be missed") {
    CoreConfig config = config_of(2, 1000);
    Prng prng{1};
    Reporter reporter{config, {}, prng};
    ChunkMap map{4, 100, 4};
    HighestReceived highest_received;
    ControlQueue out{100};
    reporter.poll(kStart, highest_received, map, 0, out);
    Instant now = kStart;
    int count = 0;
    while (now < kStart + config.stall_timeout) {
        now = *reporter.deadline(map);
        reporter.poll(now, highest_received, map, 0, out);
        count += static_cast<int>(drained(out).size());
    }
    CHECK(count >= 8);
    CHECK(count <= 10);
}

TEST_CASE("the first pass runs ahead of the middle member, not of the slowest") {
    ReportBoard board{config_of(0, 5), {}};  // a window of 6 blocks
    const auto report = [&](unsigned from, std::uint32_t held) {
        wire::Report body;
        body.blocks_held = held;
        board.on_report(kStart, rank(from), body);
    };
    CHECK(board.window_below(kStart, 0) == 6);
    report(1, 10);
    report(2, 10);
    CHECK(board.window_below(kStart, 0) == 16);
    report(3, 30);
    CHECK(board.window_below(kStart, 0) == 16);
    report(4, 31);
    CHECK(board.window_below(kStart, 0) == 36);
    report(4, 5);  // an old report that came late
    CHECK(board.window_below(kStart, 0) == 36);
    CHECK_FALSE(board.deadline(35));
    CHECK(board.deadline(36) == kStart + milliseconds{250});
    CHECK(board.window_below(kStart + milliseconds{250}, 0) == 37);
}

TEST_CASE("the first pass does not wait for a receiver that needs nothing") {
    ReportBoard board{config_of(0, 5), {}};
    board.leave_out(rank(1));
    wire::Report body;
    body.blocks_held = 10;
    board.on_report(kStart, rank(2), body);
    CHECK(board.window_below(kStart, 0) == 6);
    board.on_report(kStart, rank(3), body);
    CHECK(board.window_below(kStart, 0) == 16);
    board.leave_out(rank(2));
    board.leave_out(rank(3));
    board.leave_out(rank(4));
    CHECK(board.window_below(kStart, 0) > 1'000'000);
    CHECK_FALSE(board.deadline(1'000'000));
}

TEST_CASE("the first pass does not wait for a receiver outside the group") {
    ReportBoard board{config_of(0, 4), {}};
    wire::Report body;
    body.blocks_held = 10;
    board.on_report(kStart, rank(1), body);
    board.on_report(kStart, rank(2), body);
    CHECK(board.window_below(kStart, 0) == 16);
    board.begin_with(rank(1), 100);
    board.begin_with(rank(2), 100);
    board.set_away(kStart, rank(3), true);
    CHECK(board.present() == 2);
    CHECK(board.window_below(kStart, 50) > 1'000'000);  // The other two have that already.
    CHECK(board.window_below(kStart, 100) == 106);
    board.set_away(kStart, rank(1), true);
    board.set_away(kStart, rank(2), true);
    CHECK(board.window_below(kStart, 100) > 1'000'000);
    CHECK_FALSE(board.deadline(1'000'000));
    board.set_away(kStart, rank(3), false);
    CHECK(board.window_below(kStart, 100) == 106);
}

TEST_CASE("the first pass waits only for receivers that need what comes next") {
    ReportBoard board{config_of(0, 5), {}};
    for (const unsigned ahead : {2U, 3U, 4U}) {
        board.begin_with(rank(ahead), 100);
    }
    CHECK(board.window_below(kStart, 0) == 6);  // 1 begins at nothing.
    wire::Report body;
    body.blocks_held = 10;
    board.on_report(kStart, rank(1), body);
    CHECK(board.window_below(kStart, 5) == 16);
    CHECK(board.deadline(16) == kStart + milliseconds{250});
    CHECK(board.window_below(kStart, 100) == 106);  // Now all count.
    board.begin_with(rank(1), 200);
    CHECK(board.window_below(kStart, 101) == 106);
}

TEST_CASE("a source that wakes late may send longer bursts, while they cost nothing") {
    BurstSearch search{{}, 16};
    CHECK(search.next_burst_factor(1, 0, false) == 1);
    CHECK(search.next_burst_factor(1, 0, true) == 2);
    CHECK(search.next_burst_factor(8, 5'000, true) == 16);
    CHECK(search.next_burst_factor(16, 5'000, true) == 16);
    CHECK(search.next_burst_factor(16, 30'000, true) == 8);
    CHECK(search.next_burst_factor(1, 900'000, true) == 1);
}

TEST_CASE("chance loss is no burst's fault") {
    BurstSearch search{{}, 16};
    CHECK(search.next_burst_factor(1, 50'000, true) == 2);
    CHECK(search.next_burst_factor(2, 70'000, true) == 4);
    CHECK(search.next_burst_factor(4, 100'000, true) == 4);
    CHECK(search.next_burst_factor(4, 130'000, true) == 2);
}
