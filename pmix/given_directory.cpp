#include "pmix/given_directory.h"

#include <algorithm>

namespace stage {

Status GivenDirectory::publish(const Card& own) {
    TRY(checked_card(own));
    own_ = own;
    return {};
}

Result<CardTable> GivenDirectory::collect(const WaitLimit& wait_limit) {
    if (Status given = carrier_.give(encode_card(own_)); !given) {
        return given.error().within("handing over the own card");
    }
    Result<std::vector<std::byte>> table = carrier_.take(wait_limit.longest);
    if (!table) {
        return std::move(table).error().within("waiting for the table of cards");
    }
    Result<CardTable> cards = decode_cards(*table);
    if (!cards) {
        return cards;
    }
    if (cards->size() != size_) {
        return Error{Blame::internal,
                     "the table has " + std::to_string(cards->size()) + " cards, the group " +
                         std::to_string(size_) + " members"};
    }
    // A table of an earlier run or of another stage lacks the incarnation that this process
    // drew. The rank is the carrier's to give.
    const auto own = std::ranges::find(*cards, own_.incarnation, &Card::incarnation);
    if (own != cards->end()) {
        own_.rank = own->rank;
    }
    if (own == cards->end() || *own != own_) {
        return Error{Blame::internal, "the table of cards does not have our own card in it"};
    }
    return cards;
}

}  // namespace stage
