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

}  // namespace
}  // namespace stage::core
