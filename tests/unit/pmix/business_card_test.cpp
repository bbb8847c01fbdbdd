#include "pmix/business_card.h"

#include "tests/unit/pmix/cards.h"
#include "transport/base/codec.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <functional>

namespace stage {
namespace {

TEST_CASE("a card comes back as it was made") {
    Card card = card_of(3);
    SECTION("IPv4") {
    }
    SECTION("IPv6") {
        card.address = *parse_ip("fd00::1:7");
    }
    SECTION("without a name") {
        card.node.clear();
    }
    SECTION("with an offer") {
        card.offer.resize(kMaxCardOfferBytes, std::byte{7});
    }
    SECTION("with a range of versions") {
        card.version_min = 2;
        card.version_max = 9;
    }
    const Result<Card> back = decode_card(encode_card(card));
    REQUIRE(back);
    CHECK(*back == card);
}

TEST_CASE("a card's bytes are those of the page") {
    Card card = card_of(258);
    card.address = *parse_ip("10.77.1.4");
    card.incarnation.fill(std::byte{0xab});
    card.node = "n3";
    card.offer = {std::byte{0xca}, std::byte{0xfe}};
    card.relay_degree = 3;
    card.places = {{"udp", {std::byte{0xbe}, std::byte{0xef}}}, {"tcp", {std::byte{5}}}};
    ByteWriter page;
    page.u8(1).u16(258).u8(4).u8(10).u8(77).u8(1).u8(4);
    for (int i = 0; i < 16; ++i) {
        page.u8(0xab);
    }
    page.u8(1).u8(1).u32(2).u8('n').u8('3');
    page.u32(2).u8(0xca).u8(0xfe).u8(3).u8(2);
    page.u32(3).u8('u').u8('d').u8('p').u32(2).u8(0xbe).u8(0xef);
    page.u32(3).u8('t').u8('c').u8('p').u32(1).u8(5);
    CHECK(encode_card(card) == page.take());
}

TEST_CASE("a launcher gives a card its rank") {
    std::vector<std::byte> card = encode_card(card_of(7));
    put_rank(card, Rank{0x0102});
    CHECK(decode_card(card)->rank == Rank{0x0102});
    put_rank(card, Rank{7});
    CHECK(card == encode_card(card_of(7)));
    std::vector<std::byte> none(2, std::byte{1});
    put_rank(none, Rank{7});
    CHECK(none == std::vector<std::byte>(2, std::byte{1}));
}

TEST_CASE("no part of a card is a card") {
    const std::vector<std::byte> whole = encode_card(card_of(7));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(decode_card(Bytes{whole}.first(length)));
    }
}

TEST_CASE("a newer release may append to a card") {
    std::vector<std::byte> bytes = encode_card(card_of(1));
    bytes.resize(bytes.size() + 100);
    const Result<Card> card = decode_card(bytes);
    REQUIRE(card);
    CHECK(*card == card_of(1));
    bytes.resize(kMaxBusinessCardBytes + 1);
    CHECK_FALSE(decode_card(bytes));
}

TEST_CASE("a changed byte gives a sensible card or none") {
    const std::vector<std::byte> whole = encode_card(card_of(7));
    Prng prng{1};
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (int round = 0; round < 16; ++round) {
            std::vector<std::byte> changed = whole;
            changed[at] = static_cast<std::byte>(prng.below(256));
            if (const Result<Card> card = decode_card(changed)) {
                CHECK(checked_card(*card));
            }
        }
    }
}

TEST_CASE("invalid fields are refused on both sides") {
    const std::vector<std::function<void(Card&)>> lies{
        [](Card& card) { card.rank = Rank{65535}; },
        [](Card& card) { card.places.clear(); },
        [](Card& card) { card.places.resize(kMaxCardPlaces + 1, card.places.front()); },
        [](Card& card) { card.places.push_back(card.places.front()); },
        [](Card& card) { card.places.front().fabric.clear(); },
        [](Card& card) { card.places.front().fabric = "two words"; },
        [](Card& card) { card.places.front().bytes.resize(kMaxCardPlaceBytes + 1); },
        [](Card& card) { card.relay_degree = 0; },
        [](Card& card) { card.address = *parse_ip("0.0.0.0"); },
        [](Card& card) { card.address = *parse_ip("::"); },
        [](Card& card) { card.incarnation = {}; },
        [](Card& card) { card.version_min = 0; },
        [](Card& card) { card.version_min = 2; },
        [](Card& card) { card.node = "two words"; },
        [](Card& card) { card.node = "n\n1"; },
        [](Card& card) { card.node = std::string(256, 'n'); },
    };
    for (std::size_t i = 0; i < lies.size(); ++i) {
        CAPTURE(i);
        Card card = card_of(1);
        lies[i](card);
        CHECK_FALSE(checked_card(card));
        CardTable table = cards_of(3);
        lies[i](table[1]);
        CHECK_FALSE(check_cards(table));
    }
}

TEST_CASE("a table comes back whole") {
    for (const std::uint16_t count : std::vector<std::uint16_t>{1, 2, 1000}) {
        const CardTable table = cards_of(count);
        const Result<CardTable> back = decode_cards(encode_cards(table));
        REQUIRE(back);
        CHECK(*back == table);
    }
}

TEST_CASE("joining encoded cards makes the same table") {
    std::vector<std::vector<std::byte>> cards;
    for (const Card& card : cards_of(5)) {
        cards.push_back(encode_card(card));
    }
    CHECK(join_cards(cards) == encode_cards(cards_of(5)));
}

TEST_CASE("a table that lies about itself is none") {
    const std::vector<std::byte> whole = encode_cards(cards_of(3));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CHECK_FALSE(decode_cards(Bytes{whole}.first(length)));
    }
    std::vector<std::byte> more = whole;
    more.push_back(std::byte{});
    CHECK_FALSE(decode_cards(more));
    CHECK_FALSE(decode_cards(ByteWriter{}.u32(0xffffffff).take()));
    CHECK_FALSE(decode_cards(ByteWriter{}.u32(0).take()));
    CHECK_FALSE(decode_cards(join_cards({encode_card(card_of(1)), encode_card(card_of(0))})));
}

TEST_CASE("two members can't be one") {
    CardTable table = cards_of(4);
    SECTION("one incarnation") {
        table[3].incarnation = table[1].incarnation;
        CHECK(check_cards(table).error().sentence() ==
              "rank 1 (n1, 10.0.0.2) and rank 3 (n3, 10.0.0.4) have the same incarnation; is "
              "one process started twice?");
    }
    SECTION("one address and port") {
        table[3].places = table[1].places;
        CHECK(check_cards(table).error().sentence() ==
              "rank 1 (n1, 10.0.0.2) and rank 3 (n3, 10.0.0.4) have the same address and port; "
              "is one process started twice?");
    }
    SECTION("one address, two ports are two members of one host") {
        table[3].address = table[1].address;
        CHECK(check_cards(table));
    }
}

}  // namespace
}  // namespace stage
