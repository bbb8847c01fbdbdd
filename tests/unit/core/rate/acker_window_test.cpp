#include "transport/core/rate/acker_window.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

/// A source that sends as fast as the window says, and receivers that report.
struct AckerFlow {
    AckerFlow() { window.poll(now, pacer, true); }

    void send(std::uint16_t packets) {
        Send send;
        send.to.to_group = true;
        send.packet_number = next;
        send.count = packets;
        window.on_sends(now, std::span{&send, 1});
        next += packets;
    }
    /// Reports `lost` of the last `span` packets as lost; heard an RTT after they left.
    void report(unsigned from, std::uint32_t span, std::uint32_t lost, Duration round_trip) {
        wire::Report body;
        body.mark = next - 1;
        body.span = span;
        body.received = span - lost;  // (The older mark counts, the newer doesn't.)
        now += round_trip;
        window.on_report(now, rank(from), body);
        window.poll(now, pacer, true);
    }

    static CoreConfig config() {
        CoreConfig config = config_of(0, 8);
        config.rate_bytes_per_s = 0;
        return config;
    }

    Instant now = kStart;
    std::uint64_t next = 1;
    AckerWindow window{config(), {}};
    Pacer pacer{{}, 12'500'000, 1070};
};

}  // namespace

TEST_CASE("the window doubles up to the threshold, then grows by one a window") {
    AckerFlow flow;
    CHECK(flow.window.window() == 16);
    for (int i = 0; i < 3; ++i) {
        flow.send(16);
        flow.report(1, 15, 0, milliseconds{1});
    }
    CHECK(flow.window.window() == Approx(64));
    flow.send(64);
    flow.report(1, 63, 0, milliseconds{1});
    CHECK(flow.window.window() == Approx(65));
}

TEST_CASE("the pacer sends the window in each of the acker's round trips") {
    AckerFlow flow;
    flow.send(16);
    flow.report(1, 15, 0, milliseconds{1});
    const double expected = flow.window.window() * 1070 / 1e-3;
    CHECK(static_cast<double>(flow.pacer.rate_bytes_per_s()) == Approx(expected).epsilon(0.02));
    CHECK(flow.window.capacity() == flow.pacer.rate_bytes_per_s());
}

TEST_CASE("a loss halves the window once, whatever else was under way is forgiven") {
    AckerFlow flow;
    for (int i = 0; i < 3; ++i) {
        flow.send(16);
        flow.report(1, 15, 0, milliseconds{1});
    }
    flow.send(32);
    flow.report(1, 31, 1, milliseconds{1});
    CHECK(flow.window.window() == Approx(32));
    flow.send(1);
    flow.report(1, 20, 3, milliseconds{1});  // of what was under way then
    CHECK(flow.window.window() == Approx(32).margin(0.1));
    flow.send(40);
    flow.report(1, 39, 1, milliseconds{1});
    CHECK(flow.window.window() == Approx(16).margin(0.1));
}

TEST_CASE(
    "the slowest receiver by the equation becomes the acker, but not for a small difference") {
    AckerFlow flow;
    flow.send(100);
    flow.report(1, 99, 10, milliseconds{1});
    CHECK(flow.window.acker() == rank(1));
    flow.report(2, 99, 11, Duration{0});
    CHECK(flow.window.acker() == rank(1));
    flow.report(3, 99, 40, milliseconds{1});
    CHECK(flow.window.acker() == rank(3));
}

TEST_CASE("a silent acker costs the window, and is replaced") {
    AckerFlow flow;
    for (int i = 0; i < 4; ++i) {
        flow.send(16);
        flow.report(1, 15, 0, milliseconds{1});
    }
    flow.now += milliseconds{300};
    flow.window.poll(flow.now, flow.pacer, true);
    CHECK(flow.window.window() == 16);
    flow.send(16);
    flow.report(2, 15, 0, milliseconds{1});
    CHECK(flow.window.acker() == rank(2));
}

TEST_CASE("no more is under way than the window and late reports explain") {
    AckerFlow flow;
    flow.send(16);
    flow.report(1, 15, 0, microseconds{100});
    CHECK(flow.window.may_send());
    for (int i = 0; i < 2000; ++i) {
        flow.send(64);
    }
    CHECK_FALSE(flow.window.may_send());
}
