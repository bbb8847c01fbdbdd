#include "tests/unit/core/parts.h"
#include "transport/core/first_pass.h"
#include "transport/core/group_verdict.h"
#include "transport/core/member_ending.h"
#include "transport/core/member_watch.h"
#include "transport/core/rate_search.h"
#include "transport/core/readiness.h"
#include "transport/core/report_board.h"
#include "transport/core/reporter.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("at most so many represent, spread evenly, whoever is the source") {
    for (const unsigned members : {2U, 3U, 33U, 34U, 64U, 1000U, 65535U}) {
        for (const unsigned source : {0U, members / 2U}) {
            CoreConfig config = config_of(0, members);
            config.source = rank(source);
            std::uint32_t count = 0;
            for (unsigned each = 0; each < members; ++each) {
                count += is_representative(config, 32, rank(each)) ? 1U : 0U;
            }
            CAPTURE(members, source);
            CHECK(count == representatives_of(config, 32));
            CHECK(count == std::min(members - 1U, 32U));
            CHECK_FALSE(is_representative(config, 32, rank(source)));
        }
    }
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
    Frontier frontier;
    for (const unsigned chunk : {0U, 1U, 4U, 9U}) {
        frontier.on_chunk(kStart, {.block = 0, .chunk = chunk});
    }
    frontier.on_end(kStart, 4);
    frontier.advance(kStart + seconds{1}, milliseconds{1});
    reporter.on_source_packet(1, true);
    ControlQueue out{10};
    reporter.poll(kStart, frontier, map, out);
    reporter.on_source_packet(100, true);
    reporter.on_source_packet(50, true);
    reporter.on_source_packet(60, false);
    reporter.poll(kStart + milliseconds{25}, frontier, map, out);
    auto sends = drained(out);
    REQUIRE(sends.size() == 1);
    auto report = *wire::read_report(sends[0].body);
    CHECK(report.highest == 100);
    CHECK(report.received == 3);
    CHECK(report.lost == 96);
    CHECK(report.missing == std::vector<wire::ChunkRun>{});  // nothing settled yet but chunk 0

    frontier.advance(kStart + seconds{2}, milliseconds{1});
    reporter.poll(kStart + milliseconds{50}, frontier, map, out);
    sends = drained(out);
    REQUIRE(sends.size() == 1);
    report = *wire::read_report(sends[0].body);
    CHECK(report.missing ==
          std::vector<wire::ChunkRun>{{.block = block(0), .first = 2, .count = 2},
                                      {.block = block(0), .first = 5, .count = 4}});
    reporter.poll(kStart + seconds{5}, frontier, map, out);
    CHECK(wire::read_report(drained(out).at(0).body)->missing.empty());
}

TEST_CASE("who represents nobody reports just often enough not to be missed") {
    CoreConfig config = config_of(2, 1000);
    REQUIRE_FALSE(is_representative(config, 32, rank(2)));
    Prng prng{1};
    Reporter reporter{config, {}, prng};
    ChunkMap map{4, 100, 4};
    Frontier frontier;
    ControlQueue out{100};
    reporter.poll(kStart, frontier, map, out);
    Instant now = kStart;
    int count = 0;
    while (now < kStart + config.stall_timeout) {
        now = *reporter.deadline();
        reporter.poll(now, frontier, map, out);
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
    CHECK(board.window_below(kStart) == 6);
    report(1, 10);
    report(2, 10);
    CHECK(board.window_below(kStart) == 16);
    report(3, 30);
    CHECK(board.window_below(kStart) == 16);
    report(4, 31);
    CHECK(board.window_below(kStart) == 36);
    report(4, 5);  // an old report that came late
    CHECK(board.window_below(kStart) == 36);
    CHECK_FALSE(board.deadline(35));
    CHECK(board.deadline(36) == kStart + milliseconds{250});
    CHECK(board.window_below(kStart + milliseconds{250}) == 37);
}

TEST_CASE("the loss that counts is the median's, when half have reported") {
    ReportBoard board{config_of(0, 6), {}};
    const auto report = [&](unsigned from, std::uint32_t received, std::uint32_t lost) {
        wire::Report body;
        body.received = received;
        body.lost = lost;
        board.on_report(kStart, rank(from), body);
    };
    report(1, 100, 0);
    report(2, 99, 1);
    CHECK_FALSE(board.take_loss_ppm(100));
    report(3, 50, 50);
    CHECK(*board.take_loss_ppm(100) == 10'000);
    CHECK_FALSE(board.take_loss_ppm(100));
    report(0, 1, 99);  // the source is no representative
    CHECK_FALSE(board.take_loss_ppm(100));
}

TEST_CASE("a loss that halving the rate does not cure is chance") {
    RateSearch search{Limits{}, false};
    CHECK(search.next_rate(10'000'000, 0) == 20'000'000);
    CHECK(search.next_rate(20'000'000, 50'000) == 10'000'000);  // the test
    CHECK(search.next_rate(10'000'000, 50'000) == 20'000'000);  // half arrived: taken back
    CHECK(search.next_rate(20'000'000, 50'000) == 40'000'000);  // known now
}

TEST_CASE("a loss that halving the rate cures was too fast") {
    RateSearch search{Limits{}, false};
    CHECK(search.next_rate(40'000'000, 500'000) == 20'000'000);
    const std::uint64_t rate = search.next_rate(20'000'000, 0);
    CHECK(rate == 19'000'000);
    CHECK(search.next_rate(rate, 0) == rate + rate / 20);  // no doubling any more
}

TEST_CASE("a source that wakes late may send longer bursts, while they cost nothing") {
    BurstSearch search{{}, 16};
    CHECK(search.next_stretch(1, 0, false) == 1);
    CHECK(search.next_stretch(1, 0, true) == 2);
    CHECK(search.next_stretch(8, 5'000, true) == 16);
    CHECK(search.next_stretch(16, 5'000, true) == 16);
    CHECK(search.next_stretch(16, 30'000, true) == 8);
    CHECK(search.next_stretch(1, 900'000, true) == 1);
}

TEST_CASE("chance loss is no burst's fault") {
    BurstSearch search{{}, 16};
    CHECK(search.next_stretch(1, 50'000, true) == 2);
    CHECK(search.next_stretch(2, 70'000, true) == 4);
    CHECK(search.next_stretch(4, 100'000, true) == 4);
    CHECK(search.next_stretch(4, 130'000, true) == 2);
}

TEST_CASE("who says nothing, or stands still, is named; who is done is not") {
    const CoreConfig config = config_of(0, 4);
    MemberWatch watch{config, {}, 100};
    CHECK_FALSE(watch.deadline());
    watch.start(kStart);
    RankSet done{4};
    const auto at = [&](Duration after, std::uint32_t sent) {
        return watch.poll(kStart + after, done, sent);
    };
    for (int s = 1; s <= 8; ++s) {
        for (unsigned each = 1; each < 4; ++each) {
            watch.on_heard(kStart + seconds{s}, rank(each));
        }
        watch.on_held(kStart + seconds{s}, rank(1), static_cast<std::uint32_t>(s));
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
        const auto named = at(milliseconds{16'100}, 50);
        REQUIRE(named);
        CHECK(named->rank == rank(1));
        CHECK(named->why.find("nothing was heard") != std::string::npos);
        CHECK(named->why.find("(and 2 more nodes)") != std::string::npos);
    }
    SECTION("nobody who is done") {
        for (unsigned each = 1; each < 4; ++each) {
            done.add(rank(each));
        }
        CHECK_FALSE(at(seconds{100}, 50));
    }
}

TEST_CASE("giving files their names may take longer than a block") {
    MemberWatch watch{config_of(0, 2), {}, 10};
    watch.start(kStart);
    watch.on_held(kStart, rank(1), 10);
    const RankSet done{2};
    for (int s = 1; s <= 31; ++s) {
        watch.on_heard(kStart + seconds{s}, rank(1));
        CHECK_FALSE(watch.poll(kStart + seconds{s}, done, 10));
    }
    watch.on_heard(kStart + seconds{33}, rank(1));
    CHECK(watch.poll(kStart + seconds{33}, done, 10));
}

TEST_CASE("an offer is repeated until all have answered, or the missing are named") {
    Readiness readiness{config_of(0, 4), {.blocks = 3, .object_bytes = 300}, {}};
    readiness.start(kStart);
    ControlQueue out{100};
    readiness.poll(kStart, out);
    const auto first = drained(out);
    REQUIRE(first.size() == 1);
    CHECK(first[0].to.to_group);
    const auto offer = wire::read_offer(first[0].body);
    REQUIRE(offer);
    CHECK(offer->blocks == 3);
    CHECK(offer->chunk_bytes == 1000);
    readiness.on_ready(kStart + milliseconds{1},
                       rank(1),
                       {.source_time_us = offer->source_time_us, .hold_us = 400});
    CHECK(readiness.round_trip().mean() == microseconds{600});
    CHECK_FALSE(readiness.is_complete());
    CHECK_FALSE(readiness.accuse(kStart + seconds{4}));
    const auto named = readiness.accuse(kStart + seconds{5});
    REQUIRE(named);
    CHECK(named->rank == rank(2));
    CHECK(named->why.find("no datagram passes") == 0);
    CHECK(named->why.find("(and 1 more nodes)") != std::string::npos);
    readiness.on_ready(kStart, rank(2), {});
    readiness.on_ready(kStart, rank(3), {});
    CHECK(readiness.is_complete());
    CHECK_FALSE(readiness.deadline());
    CHECK_FALSE(readiness.accuse(kStart + seconds{9}));
}

TEST_CASE("one failed member fails the group, the first reason stands") {
    GroupVerdict verdict{3};
    CHECK_FALSE(verdict.decide(rank(0)));
    verdict.on_done(rank(0));
    verdict.on_done(rank(1));
    CHECK_FALSE(verdict.decide(rank(0)));
    SECTION("all hold it") {
        verdict.on_done(rank(2));
        CHECK(verdict.decide(rank(0))->outcome == 0);
    }
    SECTION("one can't") {
        verdict.on_failed(rank(2), "disk full");
        verdict.on_failed(rank(1), "later");
        verdict.on_done(rank(2));
        const auto ending = verdict.decide(rank(0));
        CHECK(ending->outcome == 1);
        CHECK(ending->rank == rank(2));
        CHECK(ending->why == "disk full");
    }
}

TEST_CASE("a reason is cut between characters") {
    const std::string umlauts(1000, '\xc3');
    std::string text;
    for (int i = 0; i < 600; ++i) {
        text += "\xc3\xa4";
    }
    CHECK(why_of(Error{Blame::user, "short"}) == "short");
    const std::string cut = why_of(Error{Blame::user, "x" + text});
    CHECK(cut.size() == 899);
    CHECK(cut.substr(897) == "\xc3\xa4");
}

TEST_CASE("who fails says so until the end is told, and not for ever") {
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

TEST_CASE("an inner member stays a moment to tell the end to who missed it") {
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

namespace {

/// A source with blocks of 2500 bytes and an odd hole.
struct Pass {
    explicit Pass(std::uint32_t blocks)
        : descriptors{blocks},
          pass{config_of(0, 2),
               {.blocks = blocks, .object_bytes = 1},
               {},
               descriptors,
               residence} {}

    void load() {
        pass.order_loads(operations, ticket);
        for (const Operation& operation : taken(operations)) {
            if (operation.kind == OperationKind::load) {
                const bool hole = operation.block.value() % 5 == 4;
                descriptors.learn(operation.block, hole ? hole_block(9) : raw_block(2500));
                pass.on_loaded(operation.block);
            }
        }
    }
    std::vector<Send> fill(std::uint32_t window_below = 1000, std::size_t packets_max = 1000) {
        SendBatch batch;
        batch.packets_max = packets_max;
        pass.fill(kStart, window_below, batch, pacer, numbers);
        return batch.sends;
    }

    Residence residence{8};
    DescriptorTable descriptors;
    FirstPass pass;
    std::deque<Operation> operations;
    std::uint64_t ticket = 1;
    Pacer pacer{
        PacerLimits{.burst_bytes_max = 1U << 30U, .burst_time = seconds{1}}, 1U << 30U, 1070};
    Numbering numbers;
};

}  // namespace

TEST_CASE("the first pass sends every chunk once, in order, each block after its descriptor") {
    Pass world{23};
    std::set<std::pair<std::uint32_t, std::uint32_t>> sent;
    std::uint32_t described_below = 0;
    std::uint64_t number = 0;
    for (int i = 0; i < 1000 && !world.pass.is_over(); ++i) {
        world.load();
        for (const Send& send : world.fill(1000, 1 + static_cast<std::size_t>(i) % 4)) {
            CHECK(send.packet_number == number + 1);
            number += send.count;
            CHECK(send.to.to_group);
            if (send.type == wire::PacketType::describe) {
                const auto body = wire::read_describe(send.body);
                REQUIRE(body);
                described_below =
                    body->first.value() + static_cast<std::uint32_t>(body->descriptors.size());
                continue;
            }
            CHECK(send.block.value() < described_below);
            for (std::uint32_t chunk = 0; chunk < send.count; ++chunk) {
                CHECK(sent.emplace(send.block.value(), send.first.value() + chunk).second);
            }
        }
    }
    CHECK(world.pass.is_over());
    CHECK(world.pass.has_loaded_all());
    CHECK(world.pass.last_packet() == number);
    CHECK(sent.size() == 57);  // 19 blocks of 3 chunks, 4 holes
}

TEST_CASE("the first pass stops at the window and at what isn't read yet") {
    Pass world{20};
    CHECK(world.fill().empty());
    world.load();
    CHECK(world.pass.wants_loads() == false);
    static_cast<void>(world.fill(2));
    CHECK(world.pass.cursor() == Position{.block = 2, .chunk = 0});
    CHECK(world.pass.is_waiting());
    static_cast<void>(world.fill());
    CHECK(world.pass.cursor() == Position{.block = 4, .chunk = 0});
    CHECK_FALSE(world.pass.is_waiting());
    CHECK(world.pass.wants_loads());
}
