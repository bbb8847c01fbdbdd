// Tests how a stream is measured, by its receivers and by its source.
#include "tests/unit/core/parts.h"
#include "transport/core/feedback/arrival_log.h"
#include "transport/core/rate/pace_search.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/sending/send_log.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

Send group_send(std::uint64_t number, std::uint16_t count) {
    Send send;
    send.to.to_group = true;
    send.packet_number = number;
    send.count = count;
    return send;
}

/// Packets of 1000 bytes, one each 100 us (10 MB/s) with the numbers 1 .. count.
SendLog steady_log(std::uint64_t count) {
    SendLog log{10'000, 1000};
    for (std::uint64_t number = 1; number <= count; ++number) {
        log.on_send(kStart + microseconds{100} * number, group_send(number, 1), 10'000'000);
    }
    return log;
}

/// What a receiver says of the numbers first .. mark: each packet took `each`, the mark's delay
/// is `delay` beyond the clocks' difference.
wire::Report report_of(std::uint64_t first,
                       std::uint64_t mark,
                       Duration each,
                       Duration delay,
                       std::uint32_t lost = 0) {
    constexpr Duration kClocks = std::chrono::hours{3};
    wire::Report report;
    report.mark = mark;
    report.span = static_cast<std::uint32_t>(mark - first);
    report.received = report.span - lost;
    report.span_ns = static_cast<std::uint32_t>((each * (mark - first)).count());
    const Instant at = kStart + microseconds{100} * mark + delay + kClocks;
    report.mark_at_ns = static_cast<std::uint64_t>(at.time_since_epoch().count());
    return report;
}

}  // namespace

TEST_CASE("a span goes from mark to mark, and the next one follows") {
    ArrivalLog log;
    wire::Report report;
    log.take(kStart, report);
    CHECK(report.mark == 0);
    log.on_packet(kStart, arrival(10, kStart));
    log.on_packet(kStart, arrival(11, kStart + milliseconds{1}));
    log.on_packet(kStart, arrival(14, kStart + milliseconds{2}));
    CHECK(log.heard() == 3);
    log.take(kStart + milliseconds{3}, report);
    CHECK(report.mark == 14);
    CHECK(report.span == 4);
    CHECK(report.received == 2);  // 10 and 11: the mark opens the next span
    CHECK(report.span_ns == 2'000'000);
    CHECK(report.hold_us == 1000);
    log.on_packet(kStart, arrival(15, kStart + milliseconds{3}));
    log.take(kStart + milliseconds{3}, report);
    CHECK(report.span == 1);
    CHECK(report.received == 1);
    CHECK(log.heard() == 0);
}

TEST_CASE("a clock may count from anywhere") {
    ArrivalLog log;
    const Instant before{-std::chrono::hours{1}};
    log.on_packet(before, arrival(10, before));
    log.on_packet(before + milliseconds{1}, arrival(11, before + milliseconds{1}));
    wire::Report report;
    log.take(before + milliseconds{2}, report);
    CHECK(report.mark == 11);
}

TEST_CASE("of packets that came as one only the first is a mark") {
    ArrivalLog log;
    wire::Report report;
    for (std::uint64_t number = 1; number <= 40; ++number) {
        log.on_packet(kStart, arrival(number, kStart));
    }
    log.on_packet(kStart, arrival(41, kStart + milliseconds{4}));
    log.on_packet(kStart, arrival(42, kStart + milliseconds{4}));
    log.take(kStart + milliseconds{4}, report);
    CHECK(report.mark == 41);
    CHECK(report.span == 40);
    CHECK(report.received == 40);
    CHECK(report.span_ns == 4'000'000);
}

TEST_CASE("a late packet is counted, but marks nothing") {
    ArrivalLog log;
    wire::Report report;
    log.on_packet(kStart, arrival(1, kStart));
    log.on_packet(kStart, arrival(3, kStart + milliseconds{1}));
    log.on_packet(kStart, arrival(2, kStart + milliseconds{2}));
    log.on_packet(kStart, arrival(4, kStart + milliseconds{3}));
    log.take(kStart, report);
    CHECK(report.mark == 4);
    CHECK(report.received == 3);
}

TEST_CASE("while a stream pauses it does not show what its path takes") {
    ArrivalLog log;
    Instant now = kStart;
    std::uint64_t number = 0;
    const auto bring = [&](int packets, Duration each, bool is_first_pass) {
        for (int i = 0; i < packets; ++i) {
            now += each;
            Datagram datagram = arrival(++number, now);
            datagram.header.type =
                is_first_pass ? wire::PacketType::data : wire::PacketType::describe;
            log.on_packet(now, datagram);
        }
    };
    bring(66, milliseconds{1}, true);
    CHECK(log.steady_packets_per_s() == log.packets_per_s());
    CHECK(log.steady_packets_per_s() > 900);
    const std::uint32_t before = log.steady_packets_per_s();
    for (int block = 0; block < 40; ++block) {
        bring(4, milliseconds{30}, false);  // Signs of life.
        bring(20, milliseconds{1}, true);
    }
    CHECK(log.packets_per_s() < 300);
    CHECK(log.steady_packets_per_s() == before);
    bring(200, microseconds{500}, true);
    bring(64, microseconds{500}, true);
    CHECK(log.steady_packets_per_s() > before);
}

TEST_CASE("what the sockets dropped is reported once, their fill as it is") {
    ArrivalLog log;
    wire::Report report;
    Datagram datagram = arrival(1, kStart);
    datagram.overflow = 7;
    datagram.fill = 90;
    log.on_packet(kStart, datagram);
    log.take(kStart, report);
    CHECK(report.overflow == 7);
    CHECK(report.fill == 90);
    log.take(kStart, report);
    CHECK(report.overflow == 0);
}

TEST_CASE("the source knows when it sent which number, and what lay between two") {
    SendLog log{100, 1000};
    log.on_send(kStart, group_send(1, 10), 10'000'000);
    Send alone;
    alone.packet_number = 11;
    alone.count = 5;
    log.on_send(kStart + milliseconds{1}, alone, 10'000'000);
    log.on_send(kStart + milliseconds{5}, group_send(16, 4), 10'000'000);
    CHECK(log.departure(1)->left == kStart);
    // A burst counts as if it left at the pace of the path.
    CHECK(log.departure(4)->left == kStart + microseconds{300});
    CHECK(log.departure(4)->sent == kStart);
    CHECK(log.departure(16)->left == kStart + milliseconds{5});
    const auto span = log.span(3, 18);
    REQUIRE(span);
    CHECK(span->packets == 10);  // 3 .. 10 and 16, 17: those to one member don't count
    CHECK(span->bytes == 10'000);
    CHECK(span->time == milliseconds{5});
    CHECK_FALSE(log.departure(20));
    CHECK_FALSE(log.span(1, 20));
    CHECK(log.next() == 20);
    CHECK(log.packets() == 14);
    CHECK(log.packets_before(13) == 10);
    CHECK(log.packets_before(18) == 12);
    CHECK(log.packets_before(20) == 0);
}

TEST_CASE("packets beside the stream are in no span: no receiver counts them") {
    SendLog log{100, 1000};
    log.on_send(kStart, group_send(1, 4), 10'000'000);
    std::uint64_t number = 5;
    for (const auto type : {wire::PacketType::offer, wire::PacketType::pulse}) {
        Send beside = group_send(number++, 1);
        beside.type = type;
        log.on_send(kStart + milliseconds{1}, beside, 10'000'000);
    }
    log.on_send(kStart + milliseconds{2}, group_send(7, 4), 10'000'000);
    const auto span = log.span(1, 10);
    REQUIRE(span);
    CHECK(span->packets == 7);  // 1 .. 4 and 7 .. 9
    CHECK(span->bytes == 7'000);
}

TEST_CASE("only a limited number of sends is remembered") {
    SendLog log{3, 1000};
    for (std::uint64_t number = 1; number <= 5; ++number) {
        log.on_send(kStart, group_send(number, 1), 1);
    }
    CHECK_FALSE(log.departure(2));
    CHECK(log.departure(3));
}

TEST_CASE("delay is what exceeds the least one, whatever the clocks say") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 2), {}};
    board.on_report(kStart, rank(1), report_of(1, 20, microseconds{100}, milliseconds{1}), log);
    board.begin(kStart, 20);
    board.on_report(
        kStart, rank(1), report_of(20, 40, microseconds{100}, milliseconds{3}), log);
    const auto sample = board.sample(kStart, 8);
    REQUIRE(sample);
    CHECK(sample->queue == Approx(0.002).epsilon(0.01));
    CHECK(sample->sent == Approx(10e6));
    CHECK(sample->loss == 0);
}

TEST_CASE("what was sent before the last change says nothing") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 2), {}};
    board.begin(kStart, 30);
    board.on_report(kStart, rank(1), report_of(20, 40, microseconds{100}, {}), log);
    CHECK_FALSE(board.sample(kStart, 1));
    board.on_report(kStart, rank(1), report_of(40, 60, microseconds{200}, {}, 5), log);
    const auto sample = board.sample(kStart, 1);
    REQUIRE(sample);
    CHECK(sample->packets == 20);
    CHECK(sample->loss == Approx(0.25));
    CHECK(sample->passed == Approx(5e6));
    CHECK(sample->delivered == Approx(3.75e6));
}

TEST_CASE("what counts is what more than 60 % see") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 11), {}};
    board.begin(kStart, 1);
    for (unsigned from = 1; from <= 10; ++from) {
        board.on_report(kStart, rank(from), report_of(1, 20, microseconds{100}, {}), log);
    }
    const auto congested = [&](unsigned count) {
        board.begin(kStart, 20);
        for (unsigned from = 1; from <= 10; ++from) {
            const bool is_slow = from <= count;
            board.on_report(kStart,
                            rank(from),
                            report_of(20,
                                      40,
                                      microseconds{is_slow ? 200 : 100},
                                      milliseconds{is_slow ? 2 : 0},
                                      is_slow ? 8 : 0),
                            log);
        }
        return *board.sample(kStart, 8);
    };
    const RateSample minority = congested(6);
    CHECK(minority.queue == Approx(0).margin(1e-6));
    CHECK(minority.delivered == Approx(10e6));
    CHECK(minority.loss == 0);
    const RateSample most = congested(7);
    CHECK(most.queue == Approx(0.002).epsilon(0.01));
    CHECK(most.delivered == Approx(3e6));
}

TEST_CASE("a sample waits for three quarters of the representatives that report, or for time") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 9), {}};
    for (unsigned from = 1; from <= 8; ++from) {
        board.on_report(kStart, rank(from), report_of(1, 20, microseconds{100}, {}), log);
    }
    board.begin(kStart, 20);
    for (unsigned from = 1; from <= 5; ++from) {
        board.on_report(kStart, rank(from), report_of(20, 40, microseconds{100}, {}), log);
    }
    CHECK_FALSE(board.sample(kStart, 8));
    CHECK(board.sample(kStart + milliseconds{60}, 8));
    board.on_report(kStart, rank(6), report_of(20, 40, microseconds{100}, {}), log);
    CHECK(board.sample(kStart, 8));
}

TEST_CASE("the loss that rules the bursts is the median's, when half have reported") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 6), {}};
    const auto report = [&](unsigned from, std::uint32_t lost) {
        board.on_report(
            kStart, rank(from), report_of(1, 101, microseconds{100}, {}, lost), log);
    };
    report(1, 0);
    report(2, 1);
    CHECK_FALSE(board.take_loss_ppm(kStart, 100));
    report(3, 50);
    CHECK(*board.take_loss_ppm(kStart, 100) == 10'000);
    CHECK_FALSE(board.take_loss_ppm(kStart, 100));
    report(0, 99);  // the source is no representative
    CHECK_FALSE(board.take_loss_ppm(kStart, 100));
}

TEST_CASE("representatives that are silent or away are not waited for") {
    const SendLog log = steady_log(200);
    RateBoard board{config_of(0, 7), {}};
    board.begin(kStart, 1);
    const auto report = [&](unsigned from, std::uint64_t begin, std::uint64_t end, Instant at) {
        board.on_report(at, rank(from), report_of(begin, end, microseconds{100}, {}, 1), log);
    };
    report(3, 1, 51, kStart + milliseconds{200});
    CHECK(board.reported(kStart + milliseconds{200}) == 0);
    CHECK_FALSE(board.take_loss_ppm(kStart + milliseconds{200}, 50));
    CHECK(board.reported(kStart + milliseconds{251}) == 51);
    CHECK(*board.take_loss_ppm(kStart + milliseconds{251}, 50) == 20'000);
    report(1, 1, 151, kStart + milliseconds{300});
    report(2, 1, 151, kStart + milliseconds{300});
    CHECK(board.reported(kStart + milliseconds{300}) == 151);
    board.set_away(rank(1), true);
    board.set_away(rank(2), true);
    CHECK(board.reported(kStart + milliseconds{300}) == 51);
}

TEST_CASE("at the start no more is under way than as much again as was reported") {
    CoreConfig config = config_of(0, 2);
    config.rate_bytes_per_s = 0;
    PaceSearch pace{config, {}};
    Pacer pacer{{}, 1'000'000, 1070};
    pace.poll(kStart, pacer, false);
    CHECK(pacer.rate_bytes_per_s() == 1'000'000);  // there is nothing to send yet
    pace.poll(kStart, pacer, true);
    CHECK(pacer.credit(kStart) >= 64 * 1070);
    CHECK(pace.may_send());
    const std::vector<Send> train{group_send(1, 48), group_send(49, 48)};
    pace.on_sends(kStart, train);
    pace.poll(kStart + milliseconds{1}, pacer, true);
    CHECK_FALSE(pace.may_send());
    SECTION("a report opens it") {
        pace.on_report(
            kStart + milliseconds{2}, rank(1), report_of(1, 41, microseconds{100}, {}));
        pace.poll(kStart + milliseconds{2}, pacer, true);
        CHECK(pace.may_send());
    }
    SECTION("or time, if none comes") {
        pace.poll(kStart + milliseconds{101}, pacer, true);
        CHECK(pace.may_send());
    }
}
