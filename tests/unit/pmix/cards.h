// Business cards for the tests of pmix/.
#pragma once

#include "pmix/business_card.h"

namespace stage {

/// Rank's own: node "n<rank>", 10.0.0.<rank+1> at first, an incarnation and a place like no
/// other rank's.
inline Card card_of(std::uint16_t rank) {
    Card card;
    card.rank = Rank{rank};
    card.address =
        parse_ip("10.0." + std::to_string(rank / 250) + '.' + std::to_string(rank % 250 + 1))
            .value();
    card.places = {
        {"udp",
         {std::byte{7}, static_cast<std::byte>(rank >> 8U), static_cast<std::byte>(rank)}}};
    card.incarnation.fill(std::byte{0x11});
    card.incarnation[0] = static_cast<std::byte>(rank & 0xffU);
    card.incarnation[1] = static_cast<std::byte>(rank >> 8U);
    card.node = "n" + std::to_string(rank);
    return card;
}

inline CardTable cards_of(std::uint16_t count) {
    CardTable cards;
    for (std::uint16_t rank = 0; rank < count; ++rank) {
        cards.push_back(card_of(rank));
    }
    return cards;
}

}  // namespace stage
