#include "pmix/agreement.h"

#include "tests/unit/pmix/cards.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

TEST_CASE("the highest version that all speak is taken") {
    CardTable cards = cards_of(3);
    cards[0].version_max = 5;
    cards[1].version_min = 2;
    cards[1].version_max = 4;
    cards[2].version_max = 9;
    REQUIRE(common_version(cards));
    CHECK(*common_version(cards) == 4);
}

TEST_CASE("no common version names the oldest and the newest") {
    CardTable cards = cards_of(3);
    cards[2].version_min = 2;
    cards[2].version_max = 3;
    const Result<std::uint8_t> version = common_version(cards);
    REQUIRE_FALSE(version);
    CHECK(version.error().blame() == Blame::node);
    CHECK(version.error().sentence() ==
          "no packet version is supported by all members: rank 0 (n0, 10.0.0.1) speaks up to "
          "1, rank 2 (n2, "
          "10.0.0.3) from 2; install the same release of stagecast on both nodes");
    CHECK_FALSE(agree(cards, std::nullopt));
}

TEST_CASE("the session is every member's and no earlier run's") {
    CardTable cards = cards_of(4);
    const auto first = agree(cards, std::nullopt);
    REQUIRE(first);
    CHECK(agree(cards, std::nullopt)->session == first->session);
    CHECK(agree(cards, std::nullopt)->draw == first->draw);
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        CardTable later = cards;
        later[rank].incarnation[15] ^= std::byte{1};
        CHECK(agree(later, std::nullopt)->session != first->session);
    }
}

TEST_CASE("two groups that were given the same context id draw different groups") {
    const CardTable cards = cards_of(2);
    CardTable others = cards;
    others[1].incarnation[0] ^= std::byte{1};
    CHECK(agree(cards, 4294967295)->draw != agree(others, 4294967295)->draw);
    CHECK(agree(cards, 4294967295)->draw == agree(cards, 4294967295)->draw);
}

TEST_CASE("a context id of the host has its part in the draw, none in the session") {
    const CardTable cards = cards_of(2);
    CHECK(agree(cards, 4711)->draw != agree(cards, 4712)->draw);
    CHECK(agree(cards, 4711)->session == agree(cards, std::nullopt)->session);
}

}  // namespace
}  // namespace stage
