#include "pmix/given_directory.h"

#include "tests/unit/pmix/cards.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

/// Answers with the table that it was made with.
class Carrier final : public CardCarrier {
  public:
    explicit Carrier(Result<std::vector<std::byte>> table) : table_{std::move(table)} {}

    Status give(Bytes card) override {
        given.assign(card.begin(), card.end());
        return {};
    }
    Result<std::vector<std::byte>> take(std::chrono::milliseconds /*longest*/) override {
        return table_;
    }

    std::vector<std::byte> given;

  private:
    Result<std::vector<std::byte>> table_;
};

Result<CardTable> collect(Carrier& carrier, std::size_t size) {
    GivenDirectory directory{carrier, size};
    REQUIRE(directory.publish(card_of(1)));
    return directory.collect({});
}

TEST_CASE("the carried table is the group's") {
    Carrier carrier{encode_cards(cards_of(3))};
    const Result<CardTable> cards = collect(carrier, 3);
    REQUIRE(cards);
    CHECK(*cards == cards_of(3));
    CHECK(carrier.given == encode_card(card_of(1)));
}

TEST_CASE("the carrier may give the own card another rank, and nothing else") {
    CardTable table{card_of(0), card_of(2), card_of(1)};
    table[1].rank = Rank{1};
    table[2].rank = Rank{2};
    Carrier carrier{encode_cards(table)};
    const Result<CardTable> cards = collect(carrier, 3);
    REQUIRE(cards);
    CHECK((*cards)[2].incarnation == card_of(1).incarnation);
    table[2].node = "n9";
    Carrier other{encode_cards(table)};
    CHECK_FALSE(collect(other, 3));
}

TEST_CASE("a table of another time or group is not taken") {
    CardTable table = cards_of(3);
    SECTION("another incarnation of us") {
        table[1].incarnation[9] ^= std::byte{1};
    }
    SECTION("too many") {
        table = cards_of(4);
    }
    SECTION("too few") {
        table = cards_of(2);
    }
    Carrier carrier{encode_cards(table)};
    CHECK_FALSE(collect(carrier, 3));
}

TEST_CASE("a carrier's failure is reported") {
    Carrier carrier{Error{Blame::node, "n2: no answer"}};
    const Result<CardTable> cards = collect(carrier, 3);
    REQUIRE_FALSE(cards);
    CHECK(cards.error().sentence() == "waiting for the table of cards: n2: no answer");
}

TEST_CASE("a card that no member would accept is not published") {
    Carrier carrier{encode_cards(cards_of(3))};
    GivenDirectory directory{carrier, 3};
    Card card = card_of(1);
    card.places.clear();
    CHECK_FALSE(directory.publish(card));
}

}  // namespace
}  // namespace stage
