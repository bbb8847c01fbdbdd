#include "transport/core/relay/relay_parent.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

namespace stage::core {
namespace {

CoreConfig child_config(std::uint16_t own, std::uint16_t members) {
    CoreConfig config;
    config.own = Rank{own};
    config.members = members;
    return config;
}

/// The parent's side of a member of a chain.
RelayParent parent_of(std::uint16_t own, std::uint16_t members) {
    return {child_config(own, members), {}, {.members = members, .source = Rank{0}}};
}

TEST_CASE("a parent is connected to again only if its path carries shorter packets") {
    RelayParent parent = parent_of(3, 5);
    ControlQueue out{16};
    Instant now{std::chrono::hours{1}};
    const auto next = [&] {
        now += std::chrono::milliseconds{100};
        parent.poll(now, out);
        const auto connected = parent.take_connect();
        return connected ? std::optional{connected->peer} : std::nullopt;
    };
    const auto ends = [&](std::uint16_t peer, LinkEvent::Kind kind) {
        parent.on_link(now, {.peer = Rank{peer}, .kind = kind});
    };
    parent.start(now);
    CHECK(next() == Rank{2});
    ends(2, LinkEvent::Kind::narrowed);
    CHECK(next() == Rank{2});
    ends(1, LinkEvent::Kind::narrowed);  // Another's.
    CHECK_FALSE(next());
    ends(2, LinkEvent::Kind::closed);
    CHECK(next() == Rank{1});
    CHECK_FALSE(parent.take_left());  // Its connection ended by itself.
}

TEST_CASE("a member skips more and more places above it while none answers") {
    const RelayLimits limits;
    RelayParent parent = parent_of(40, 50);
    ControlQueue out{64};
    Instant now{std::chrono::hours{1}};
    const auto tried = [&] {
        parent.poll(now, out);
        now += limits.silence;
        parent.poll(now, out);  // It is left,
        now += limits.retry_max;
        parent.poll(now, out);  // and the next one is tried.
        return parent.rank().value();
    };
    parent.start(now);
    std::vector<std::uint16_t> ranks;
    for (int i = 0; i < 5; ++i) {
        ranks.push_back(tried());
    }
    CHECK(ranks == std::vector<std::uint16_t>{38, 36, 32, 24, 8});
    SECTION("none but the source is left") {
        CHECK(tried() == 0);
        CHECK(tried() == 39);
        CHECK(tried() == 38);
    }
    SECTION("one answers") {
        CHECK(parent.on_packet(now, Rank{8}));
        CHECK(tried() == 7);
        CHECK(tried() == 6);
        CHECK(tried() == 4);
    }
    SECTION("one refuses") {
        parent.on_link(now, {.peer = Rank{8}, .kind = LinkEvent::Kind::closed});
        CHECK(parent.rank() == Rank{0});
    }
}

TEST_CASE("a parent at the end of a long path is awaited for some RTTs more") {
    const RelayLimits limits;
    RelayParent parent = parent_of(3, 5);
    ControlQueue out{16};
    Instant now{std::chrono::hours{1}};
    parent.start(now);
    parent.poll(now, out);
    constexpr Duration kRoundTrip = std::chrono::milliseconds{300};
    parent.on_link(now,
                   {.peer = Rank{2}, .kind = LinkEvent::Kind::ready, .round_trip = kRoundTrip});
    CHECK(parent.on_packet(now, Rank{2}));
    now += limits.silence + limits.round_trips * kRoundTrip - Duration{1};
    parent.poll(now, out);
    CHECK(parent.rank() == Rank{2});
    now += Duration{1};
    parent.poll(now, out);
    CHECK(parent.rank() == Rank{1});
}

TEST_CASE("a member is shut out when it has tried every ancestor, and no connection stood") {
    RelayParent parent = parent_of(2, 5);
    ControlQueue out{16};
    Instant now{std::chrono::hours{1}};
    parent.start(now);
    const auto ends = [&](std::uint16_t peer) {
        parent.poll(now, out);
        parent.on_link(now, {.peer = Rank{peer}, .kind = LinkEvent::Kind::closed});
        now += std::chrono::seconds{1};
    };
    ends(1);
    CHECK_FALSE(parent.is_shut_out());
    SECTION("none") {
        ends(0);  // Once more.
        ends(0);
        CHECK(parent.is_shut_out());
    }
    SECTION("one stood, whose process did not answer yet") {
        parent.poll(now, out);
        parent.on_link(now, {.peer = Rank{0}, .kind = LinkEvent::Kind::ready});
        ends(0);
        CHECK_FALSE(parent.is_shut_out());
    }
}

TEST_CASE("a source that refuses a member's first connection is tried once more") {
    RelayParent parent = parent_of(2, 5);
    ControlQueue out{64};
    Instant now{std::chrono::hours{1}};
    const auto refused = [&](std::uint16_t rank) {
        parent.poll(now, out);
        CHECK(parent.rank() == Rank{rank});
        parent.on_link(now, {.peer = Rank{rank}, .kind = LinkEvent::Kind::closed});
        now += std::chrono::seconds{1};
    };
    parent.start(now);
    refused(1);
    refused(0);
    CHECK_FALSE(parent.is_shut_out());
    SECTION("which stands") {
        parent.poll(now, out);
        CHECK(parent.on_packet(now, Rank{0}));
        refused(0);
        refused(1);
        refused(0);
        CHECK_FALSE(parent.is_shut_out());
    }
    SECTION("which is refused, too") {
        refused(0);
        CHECK(parent.is_shut_out());
        refused(1);
        refused(0);
        refused(1);
    }
}

TEST_CASE("a parent that connects to a member is its parent no more") {
    RelayParent parent = parent_of(3, 5);
    ControlQueue out{16};
    const Instant now{std::chrono::hours{1}};
    parent.start(now);
    parent.on_ready(now, Rank{2});  // A connection to it is only to begin.
    parent.poll(now, out);
    CHECK(parent.rank() == Rank{2});
    parent.on_ready(now, Rank{4});
    CHECK(parent.is_connected());
    parent.on_ready(now, Rank{2});
    CHECK_FALSE(parent.is_connected());
    CHECK_FALSE(parent.take_left());  // The connection between them is the child's.
    CHECK_FALSE(parent.on_packet(now, Rank{2}));
    parent.poll(now, out);
    CHECK(parent.rank() == Rank{1});
}

TEST_CASE("a PULSE to the parent is early when there is news, but not too often") {
    RelayParent parent = parent_of(3, 5);
    ControlQueue out{16};
    Instant now{std::chrono::hours{1}};
    parent.hurry(now);
    CHECK_FALSE(parent.take_pulse(now));  // There is no connection.
    parent.start(now);
    parent.poll(now, out);
    int pulses = 0;
    const auto pass_second = [&](bool has_news) {
        pulses = 0;
        for (int i = 0; i < 1000; ++i) {
            now += std::chrono::milliseconds{1};
            if (has_news) {
                parent.hurry(now);
            }
            static_cast<void>(parent.on_packet(now, Rank{2}));
            pulses += parent.take_pulse(now) ? 1 : 0;
        }
    };
    pass_second(false);
    CHECK(pulses == 4);
    pass_second(true);
    CHECK(pulses >= 48);
    CHECK(pulses <= 50);
}

}  // namespace
}  // namespace stage::core
