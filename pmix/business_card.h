// What must every member know of every other before the first packet?
//
// Its card: where it listens, which incarnation seals its packets, which versions it speaks. A
// member makes its own and a directory (directory.h) brings it all of them, in rank order.
// Cards come through other people's processes: whatever is read is checked, and read() is the
// only way in. Layout: docs/WIRING.md, 1.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace stage {

/// One encoded card, bytes. Usual: 40 and the node's name; with a credential about 400.
inline constexpr std::size_t kMaxBusinessCardBytes = 4096;
inline constexpr std::size_t kMaxCardNameBytes = 255;
/// Credential that carries the group key where no daemon does, bytes.
inline constexpr std::size_t kMaxCardKeyBytes = 2048;
/// What the source has to offer, bytes.
inline constexpr std::size_t kMaxCardOfferBytes = 1024;
/// No member may have less: what IPv6 asks of every link (RFC 8200, section 5), bytes.
inline constexpr std::uint32_t kMinMtu = 1280;
/// Interfaces that one member may use together: each has a flow.
inline constexpr std::uint8_t kMaxRails = 16;
/// All cards of a group in one piece, bytes.
inline constexpr std::size_t kMaxBusinessCardTableBytes = 16U << 20U;
/// Ranks have 16 bits, and 65535 is no rank.
inline constexpr std::size_t kMaxCards = 65535;

struct Card {
    Rank rank;
    IpAddress address;                        ///< Peers send their unicast here ...
    std::uint16_t port = 0;                   ///< ... to this UDP port; never 0.
    std::array<std::byte, 16> incarnation{};  ///< From getrandom(), drawn by this process.
    std::uint8_t version_min = 1;  ///< Packet versions this member speaks: both ends are meant.
    std::uint8_t version_max = 1;
    std::string node;  ///< Its name, for sentences; empty where nobody knows it.
    /// Rank 0 without a daemon: the group key, for the own uid's eyes (key_credential.h).
    std::string key_credential;
    /// The source's manifest if it is short (stager/files/manifest/manifest.h), so that every
    /// member knows before the first packet whether it has room. Hostile like everything from
    /// elsewhere.
    std::vector<std::byte> offer;
    std::uint32_t mtu = 1500;  ///< The least of the interfaces that it leaves by, bytes.
    std::uint8_t rails = 1;    ///< How many those are.

    friend bool operator==(const Card&, const Card&) = default;
};

/// By rank: card i is rank i's.
using CardTable = std::vector<Card>;

/// Requires a card that checked_card() takes.
[[nodiscard]] std::vector<std::byte> encode_card(const Card& card);
/// Encodes it, or fails (Blame::internal) if no member would accept it.
[[nodiscard]] Result<std::vector<std::byte>> checked_card(const Card& card);
/// Fails (Blame::internal) on anything but one whole card that makes sense. A newer release may
/// append fields: what follows the known ones is skipped.
[[nodiscard]] Result<Card> decode_card(Bytes bytes);

/// A count, then cards with their lengths.
[[nodiscard]] std::vector<std::byte> encode_cards(const CardTable& cards);
/// A table out of cards as each member made them, without looking inside: for who only carries.
[[nodiscard]] std::vector<std::byte> join_cards(
    const std::vector<std::vector<std::byte>>& cards);
/// Fails (Blame::internal) unless it is a whole table: see check_cards().
[[nodiscard]] Result<CardTable> decode_cards(Bytes bytes);

/// The table is whole: each rank once and in its place, no two with one incarnation or with one
/// address and port. Fails with a sentence naming the ranks.
[[nodiscard]] Status check_cards(const CardTable& cards);

/// "rank 3 (n3, 10.77.1.4)": how sentences name a member.
[[nodiscard]] std::string describe(const Card& card);

}  // namespace stage
