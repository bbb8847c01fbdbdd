#include "transport/core/repair/peer_choice.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <array>
#include <map>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("peers are drawn evenly, never oneself, the source only if it may be") {
    Prng prng{1};
    PeerChoice peers{config_of(2, 6), prng};
    std::map<Rank, int> seen;
    for (int i = 0; i < 4000; ++i) {
        ++seen[peers.draw(kStart, {}, false)];
    }
    CHECK(seen.count(rank(2)) == 0);
    CHECK(seen[rank(0)] < 20);  // only where eight draws failed
    for (const unsigned each : {1U, 3U, 4U, 5U}) {
        CHECK(seen[rank(each)] > 850);
    }
    seen.clear();
    for (int i = 0; i < 4000; ++i) {
        ++seen[peers.draw(kStart, {}, true)];
    }
    CHECK(seen[rank(0)] > 650);
}

TEST_CASE("in a group of two only the source can be asked") {
    Prng prng{1};
    PeerChoice peers{config_of(1, 2), prng};
    CHECK(peers.draw(kStart, {}, false) == rank(0));
}

TEST_CASE("a peer to avoid is not drawn, unless no other is left") {
    Prng prng{1};
    PeerChoice peers{config_of(1, 4), prng};
    const std::array<Rank, 1> two{rank(2)};
    for (int i = 0; i < 100; ++i) {
        CHECK(peers.draw(kStart, two, false) != rank(2));
    }
    const std::array<Rank, 2> both{rank(2), rank(3)};
    CHECK(peers.draw(kStart, both, false) == rank(0));
}

TEST_CASE(
    "a peer that lacked something last is drawn only where no other is found, until it gives") {
    Prng prng{1};
    PeerChoice peers{config_of(1, 64), prng};
    for (unsigned each = 0; each < 64; ++each) {
        if (each % 2 == 0) {
            peers.on_lacking(rank(each));
        }
    }
    std::map<bool, int> seen;
    for (int i = 0; i < 4000; ++i) {
        ++seen[peers.draw(kStart, {}, false).value() % 2 == 0];
    }
    CHECK(seen[true] > 0);  // eight draws met no other
    CHECK(seen[true] < 60);
    for (unsigned each = 0; each < 64; ++each) {
        peers.on_lacking(rank(each));
    }
    seen.clear();
    for (int i = 0; i < 4000; ++i) {
        ++seen[peers.draw(kStart, {}, false).value() % 2 == 0];
    }
    CHECK(seen[true] > 1800);  // As if none had.
    CHECK(seen[false] > 1800);
    for (unsigned each = 1; each < 64; each += 2) {
        peers.on_given(rank(each));
    }
    seen.clear();
    for (int i = 0; i < 4000; ++i) {
        ++seen[peers.draw(kStart, {}, false).value() % 2 == 0];
    }
    CHECK(seen[true] < 60);
}

TEST_CASE("during the first pass a late peer is asked rather than the source") {
    Prng prng{1};
    PeerChoice peers{config_of(1, 3), prng};
    peers.on_timeout(kStart, rank(2));
    peers.on_timeout(kStart, rank(2));
    int late = 0;
    for (int i = 0; i < 50; ++i) {
        CHECK(peers.draw(kStart, {}, true) == rank(0));
        late += peers.draw(kStart, {}, false) == rank(2) ? 1 : 0;
    }
    CHECK(late > 40);  // now and then eight draws don't meet it
}

TEST_CASE(
    "a peer that is silent twice is not asked for a while, and one that answers is forgiven") {
    Prng prng{1};
    PeerChoice peers{config_of(1, 3), prng};
    const auto draws = [&](Instant now) {
        int count = 0;
        for (int i = 0; i < 50; ++i) {
            count += peers.draw(now, {}, true) == rank(2) ? 1 : 0;
        }
        return count;
    };
    peers.on_timeout(kStart, rank(2));
    CHECK(draws(kStart) > 0);
    peers.on_timeout(kStart, rank(2));
    CHECK(draws(kStart) == 0);
    CHECK(draws(kStart + seconds{3}) > 0);
    for (int i = 0; i < 100; ++i) {
        peers.on_timeout(kStart, rank(2));
    }
    CHECK(draws(kStart + milliseconds{2500}) == 0);
    CHECK(draws(kStart + milliseconds{2600}) > 0);
    peers.on_answer(rank(2));
    CHECK(draws(kStart) > 0);
}

TEST_CASE("in a ring the one before is asked, then the one before that") {
    Prng prng{1};
    CoreConfig config = config_of(2, 6);
    config.policies.peers = PeerPolicy::ring;
    PeerChoice peers{config, prng};
    CHECK(peers.draw(kStart, {}, true) == rank(1));
    CHECK(peers.draw(kStart, std::array{rank(1)}, true) == rank(0));
    // Not the source, as long as it is busy.
    CHECK(peers.draw(kStart, std::array{rank(1)}, false) == rank(5));
    CHECK(peers.draw(kStart, std::array{rank(5), rank(1)}, false) == rank(4));
    CHECK(peers.draw(kStart, std::array{rank(1), rank(3), rank(4), rank(5)}, false) == rank(0));
    // A silent neighbour is passed over for a while.
    peers.on_timeout(kStart, rank(1));
    peers.on_timeout(kStart, rank(1));
    CHECK(peers.draw(kStart, {}, false) == rank(5));
    peers.on_answer(rank(1));
    CHECK(peers.draw(kStart, {}, false) == rank(1));
    std::map<Rank, int> seen;
    for (int i = 0; i < 100; ++i) {
        ++seen[peers.draw_any(kStart, std::array{rank(4)})];
    }
    CHECK(seen[rank(1)] > 0);
    CHECK(seen[rank(3)] > 0);
    CHECK(seen[rank(5)] > 0);
    CHECK(seen[rank(4)] == 0);
}
