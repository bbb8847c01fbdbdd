#include "transport/core/relay/relay_parent.h"

#include <catch2/catch.hpp>

#include <chrono>

namespace stage::core {
namespace {

TEST_CASE("a parent is connected to again only if its path carries shorter packets") {
    CoreConfig config;
    config.own = Rank{3};
    config.members = 5;
    const RelayTree tree{.members = 5, .source = Rank{0}, .degree = 1};
    RelayParent parent{config, {}, tree};
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

TEST_CASE("a parent that connects to a member is its parent no more") {
    CoreConfig config;
    config.own = Rank{3};
    config.members = 5;
    RelayParent parent{config, {}, {.members = 5, .source = Rank{0}, .degree = 1}};
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
    CoreConfig config;
    config.own = Rank{3};
    config.members = 5;
    RelayParent parent{config, {}, {.members = 5, .source = Rank{0}, .degree = 1}};
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
