// Fuzzes business cards and tables of them.
//
// The first byte chooses: one card, or a table.
#include "pmix/business_card.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/pmix/cards.h"

namespace stage {
namespace {

void check(const Card& card) {
    invariant(!card.address.is_any(), "a card says on which host its member is");
    invariant(!card.places.empty(), "a member is in some fabric");
    invariant(card.version_min >= 1 && card.version_min <= card.version_max,
              "a member speaks some version");
    invariant(checked_card(card).ok(), "what was accepted may be sent");
    invariant(!describe(card).empty(), "a member can be named");
}

void check_table(const CardTable& cards) {
    invariant(!cards.empty() && cards.size() <= kMaxCards, "a group has members");
    for (std::size_t i = 0; i < cards.size(); ++i) {
        check(cards[i]);
        invariant(cards[i].rank.index() == i, "a card stands in its place");
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes bytes = input.subspan(1);
    if (input.front() == std::byte{0}) {
        return is_stable(bytes, decode_card, [](const Card& card) {
            check(card);
            return encode_card(card);
        });
    }
    return is_stable(bytes, decode_cards, [](const CardTable& cards) {
        check_table(cards);
        return encode_cards(cards);
    });
}

std::vector<FuzzSeed> fuzz_seeds() {
    Card six = card_of(1);
    six.address = parse_ip("fd00::7").value();
    six.version_max = 3;
    six.places.push_back({"tcp", {std::byte{4}}});
    auto longer = encode_card(six);
    longer.push_back(std::byte{7});
    return {{"card", chosen(0, encode_card(card_of(3)))},
            {"card_ipv6", chosen(0, encode_card(six))},
            {"card_of_later", chosen(0, longer)},
            {"table", chosen(1, encode_cards({card_of(0), six, card_of(2)}))}};
}

}  // namespace stage
