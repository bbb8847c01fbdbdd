// One member's business card: the addresses, keys and versions that every other member needs
// before the first packet.
//
// A member makes its own card, and a directory (directory.h) brings it all of them in rank
// order. Cards pass through processes of other users, so decode_card() checks every field, and
// there is no other way to read one. Layout: docs/WIRING.md, 1.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Limit of one encoded card, bytes. A usual card has about 100 and the node's name.
inline constexpr std::size_t kMaxBusinessCardBytes = 4096;
inline constexpr std::size_t kMaxCardNameBytes = 255;
/// Limit of the source's offer, bytes.
inline constexpr std::size_t kMaxCardOfferBytes = 1024;
/// Limits of a place: its fabric's name and its own bytes (transport/fabric/fabric.h).
inline constexpr std::size_t kMaxCardFabricBytes = 16;
inline constexpr std::size_t kMaxCardPlaceBytes = 128;
inline constexpr std::size_t kMaxCardPlaces = 8;
/// Limit of all cards of a group in one encoded table, bytes.
inline constexpr std::size_t kMaxBusinessCardTableBytes = 16U << 20U;
/// Ranks have 16 bits, and 65535 is reserved.
inline constexpr std::size_t kMaxCards = 65535;

/// Where a member is found in one fabric.
struct CardPlace {
    std::string fabric;            ///< Its name.
    std::vector<std::byte> bytes;  ///< The fabric's own.

    friend bool operator==(const CardPlace&, const CardPlace&) = default;
};

struct Card {
    Rank rank;
    IpAddress address;                        ///< The host's address, for messages.
    std::array<std::byte, 16> incarnation{};  ///< Random; drawn by this process.
    std::uint8_t version_min = 1;             ///< Supported packet versions, inclusive.
    std::uint8_t version_max = 1;
    std::string node;  ///< The node's name, for messages; empty if unknown.
    /// The source's manifest if it is short (stager/files/manifest/manifest.h), so that every
    /// member knows before the first packet whether it has enough space. Untrusted input.
    std::vector<std::byte> offer;
    /// The source's: the degree of the tree if the members form a relay; 255: two trees.
    std::uint8_t relay_degree = 1;
    /// Not empty, each fabric once: the broadcast begins in the first, and a hand-over goes to
    /// the next.
    std::vector<CardPlace> places;

    /// Null: the member is not in that fabric.
    [[nodiscard]] const CardPlace* place_in(std::string_view fabric) const;

    friend bool operator==(const Card&, const Card&) = default;
};

/// Card i belongs to rank i.
using CardTable = std::vector<Card>;

/// Requires a card that checked_card() accepts.
[[nodiscard]] std::vector<std::byte> encode_card(const Card& card);
/// Encodes the card; fails (Blame::internal) if no member would accept it.
[[nodiscard]] Result<std::vector<std::byte>> checked_card(const Card& card);
/// Gives an encoded card its rank, if a launcher and not the member knows it. Bytes that are no
/// card stay none.
void put_rank(MutableBytes card, Rank rank);
/// Fails (Blame::internal) on anything but one whole, valid card. A newer release may append
/// fields: bytes after the known fields are skipped.
[[nodiscard]] Result<Card> decode_card(Bytes bytes);

/// Encodes a count, then each card with its length.
[[nodiscard]] std::vector<std::byte> encode_cards(const CardTable& cards);
/// Joins already encoded cards into a table without decoding them, for a process that only
/// forwards them.
[[nodiscard]] std::vector<std::byte> join_cards(
    const std::vector<std::vector<std::byte>>& cards);
/// Fails (Blame::internal) unless it is a whole table: see check_cards().
[[nodiscard]] Result<CardTable> decode_cards(Bytes bytes);

/// What no two cards of a table may have alike: incarnation, and places.
[[nodiscard]] std::vector<std::string> claims_of(const Card& card);

/// Fails, naming the ranks, unless the table is complete: each rank once and at its index, no
/// incarnation and no place twice.
[[nodiscard]] Status check_cards(const CardTable& cards);

/// Names a member in messages: "rank 3 (n3, 10.77.1.4)".
[[nodiscard]] std::string describe(const Card& card);

}  // namespace stage
