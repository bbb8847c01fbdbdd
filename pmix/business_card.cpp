#include "pmix/business_card.h"

#include "transport/base/codec.h"

#include <algorithm>
#include <unordered_map>

namespace stage {
namespace {

constexpr std::uint8_t kCardFormat = 1;

bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string text_of(Bytes bytes) {
    std::string text;
    for (const std::byte octet : bytes) {
        text.push_back(static_cast<char>(octet));
    }
    return text;
}

bool is_zero(Bytes bytes) {
    return std::all_of(
        bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

Error bad_card(const std::string& why) {
    return {Blame::internal, "a member's card is not acceptable: " + why};
}

Status sensible_places(const std::vector<CardPlace>& places) {
    if (places.empty() || places.size() > kMaxCardPlaces) {
        return bad_card("it is in no fabric, or in more than " +
                        std::to_string(kMaxCardPlaces));
    }
    for (auto place = places.begin(); place != places.end(); ++place) {
        const bool is_repeated =
            std::find_if(places.begin(), place, [&](const CardPlace& other) {
                return other.fabric == place->fabric;
            }) != place;
        if (place->fabric.empty() || place->fabric.size() > kMaxCardFabricBytes ||
            !is_plain(place->fabric) || place->bytes.size() > kMaxCardPlaceBytes ||
            is_repeated) {
            return bad_card("one of its places is none");
        }
    }
    return {};
}

Status sensible(const Card& card) {
    if (card.rank.value() >= kMaxCards) {
        return bad_card("rank " + std::to_string(card.rank.value()) + " is no rank");
    }
    if (card.address.is_any()) {
        return bad_card("it names no address");
    }
    if (is_zero(card.incarnation)) {
        return bad_card("its incarnation was not drawn");
    }
    if (card.version_min == 0 || card.version_min > card.version_max) {
        return bad_card("its range of versions is empty");
    }
    if (card.node.size() > kMaxCardNameBytes || !is_plain(card.node)) {
        return bad_card("its node name is none");
    }
    if (card.offer.size() > kMaxCardOfferBytes) {
        return bad_card("its offer is too long");
    }
    if (card.relay_degree == 0) {
        return bad_card("its tree has no branch");
    }
    return sensible_places(card.places);
}

Error twice(std::string_view what, const Card& first, const Card& second) {
    return {Blame::node,
            describe(first) + " and " + describe(second) + " have the same " +
                std::string{what} + "; is one process started twice?"};
}

}  // namespace

const CardPlace* Card::place_in(std::string_view fabric) const {
    const auto found = std::ranges::find(places, fabric, &CardPlace::fabric);
    return found != places.end() ? &*found : nullptr;
}

std::vector<std::byte> encode_card(const Card& card) {
    invariant(sensible(card).ok(), "a card is checked before it is sent");
    ByteWriter out;
    out.u8(kCardFormat).u16(card.rank.value());
    out.u8(static_cast<std::uint8_t>(card.address.family)).raw(card.address.bytes());
    out.raw(card.incarnation);
    out.u8(card.version_min).u8(card.version_max);
    out.text(card.node).blob(card.offer);
    out.u8(card.relay_degree).u8(static_cast<std::uint8_t>(card.places.size()));
    for (const CardPlace& place : card.places) {
        out.text(place.fabric).blob(place.bytes);
    }
    return out.take();
}

Result<std::vector<std::byte>> checked_card(const Card& card) {
    TRY(sensible(card));
    return encode_card(card);
}

void put_rank(MutableBytes card, Rank rank) {
    // They follow the format's byte.
    if (card.size() > 2) {
        card[1] = static_cast<std::byte>(rank.value() >> 8U);
        card[2] = static_cast<std::byte>(rank.value() & 0xffU);
    }
}

Result<Card> decode_card(Bytes bytes) {
    if (bytes.size() > kMaxBusinessCardBytes) {
        return bad_card("it is longer than " + std::to_string(kMaxBusinessCardBytes) +
                        " bytes");
    }
    ByteReader in{bytes};
    if (in.u8() != kCardFormat) {
        return bad_card("it is of an unknown format");
    }
    Card card;
    card.rank = Rank{in.u16()};
    const std::uint8_t family = in.u8();
    if (family != 4 && family != 6) {
        return bad_card("its address is neither IPv4 nor IPv6");
    }
    const auto address = ip_from_bytes(in.raw(family == 4 ? 4 : 16));
    const Bytes incarnation = in.raw(card.incarnation.size());
    card.version_min = in.u8();
    card.version_max = in.u8();
    card.node = in.text(kMaxCardNameBytes);
    const Bytes offer = in.blob(kMaxCardOfferBytes);
    card.offer.assign(offer.begin(), offer.end());
    card.relay_degree = in.u8();
    const std::size_t places = in.u8();
    for (std::size_t i = 0; in.ok() && i < std::min(places, kMaxCardPlaces + 1); ++i) {
        CardPlace& place = card.places.emplace_back();
        place.fabric = in.text(kMaxCardFabricBytes);
        const Bytes own = in.blob(kMaxCardPlaceBytes);
        place.bytes.assign(own.begin(), own.end());
    }
    if (!in.ok() || !address) {
        return bad_card("it is cut short");
    }
    card.address = *address;
    std::copy(incarnation.begin(), incarnation.end(), card.incarnation.begin());
    TRY(sensible(card));
    return card;
}

std::vector<std::byte> encode_cards(const CardTable& cards) {
    std::vector<std::vector<std::byte>> encoded;
    encoded.reserve(cards.size());
    for (const Card& card : cards) {
        encoded.push_back(encode_card(card));
    }
    return join_cards(encoded);
}

std::vector<std::byte> join_cards(const std::vector<std::vector<std::byte>>& cards) {
    ByteWriter out;
    out.u32(static_cast<std::uint32_t>(cards.size()));
    for (const auto& card : cards) {
        out.blob(card);
    }
    return out.take();
}

Result<CardTable> decode_cards(Bytes bytes) {
    const Error broken{Blame::internal, "the table of cards is cut short or no table"};
    ByteReader in{bytes};
    const std::size_t count = in.u32();
    if (bytes.size() > kMaxBusinessCardTableBytes || count > kMaxCards || count > in.left()) {
        return broken;
    }
    CardTable cards;
    cards.reserve(count);
    while (in.ok() && cards.size() < count) {
        const Bytes encoded = in.blob(kMaxBusinessCardBytes);
        if (!in.ok()) {
            return broken;
        }
        Result<Card> card = decode_card(encoded);
        if (!card) {
            return std::move(card).error().within("card " + std::to_string(cards.size()));
        }
        cards.push_back(*std::move(card));
    }
    if (!in.finished()) {
        return broken;
    }
    TRY(check_cards(cards));
    return cards;
}

std::vector<std::string> claims_of(const Card& card) {
    std::vector<std::string> claims{text_of(card.incarnation)};
    for (const CardPlace& place : card.places) {
        claims.push_back(place.fabric + ' ' + text_of(place.bytes));
    }
    return claims;
}

Status check_cards(const CardTable& cards) {
    if (cards.empty() || cards.size() > kMaxCards) {
        return bad_card("a group has 1 to " + std::to_string(kMaxCards) + " members");
    }
    std::unordered_map<std::string, std::size_t> incarnations;
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        const Card& card = cards[i];
        if (card.rank.index() != i) {
            return bad_card(describe(card) + " stands in the place of rank " +
                            std::to_string(i));
        }
        if (Status status = sensible(card); !status) {
            return status;
        }
        const std::string incarnation = text_of(card.incarnation);
        if (const auto [other, fresh] = incarnations.emplace(incarnation, i); !fresh) {
            return twice("incarnation", cards[other->second], card);
        }
        for (const CardPlace& place : card.places) {
            const std::string where = place.fabric + ' ' + text_of(place.bytes);
            if (const auto [other, fresh] = places.emplace(where, i); !fresh) {
                return twice("address and port", cards[other->second], card);
            }
        }
    }
    return {};
}

std::string describe(const Card& card) {
    std::string text = "rank " + std::to_string(card.rank.value()) + " (";
    if (!card.node.empty()) {
        text += card.node + ", ";
    }
    return text + to_string(card.address) + ')';
}

}  // namespace stage
