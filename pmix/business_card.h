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
#include <vector>

namespace stage {

/// Limit of one encoded card, bytes. A usual card has 40 and the node's name, one with a
/// credential about 400.
inline constexpr std::size_t kMaxBusinessCardBytes = 4096;
inline constexpr std::size_t kMaxCardNameBytes = 255;
/// Limit of the credential that carries the group key where no daemon does, bytes.
inline constexpr std::size_t kMaxCardKeyBytes = 2048;
/// Limit of the source's offer, bytes.
inline constexpr std::size_t kMaxCardOfferBytes = 1024;
/// The smallest MTU that a member may have, bytes: what IPv6 requires of every link (RFC 8200,
/// section 5).
inline constexpr std::uint32_t kMinMtu = 1280;
/// Interfaces (rails) that one member may use together; each carries a flow.
inline constexpr std::uint8_t kMaxRails = 16;
/// Limit of all cards of a group in one encoded table, bytes.
inline constexpr std::size_t kMaxBusinessCardTableBytes = 16U << 20U;
/// Ranks have 16 bits, and 65535 is reserved.
inline constexpr std::size_t kMaxCards = 65535;

struct Card {
    Rank rank;
    IpAddress address;                        ///< Peers send unicast to this address ...
    std::uint16_t port = 0;                   ///< ... and this UDP port; never 0.
    std::array<std::byte, 16> incarnation{};  ///< Random; drawn by this process.
    std::uint8_t version_min = 1;             ///< Supported packet versions, inclusive.
    std::uint8_t version_max = 1;
    std::string node;  ///< Its name, for messages; empty if unknown.
    /// In rank 0's card, without a daemon: the group key, readable by the same uid
    /// (key_credential.h).
    std::string key_credential;
    /// The source's manifest if it is short (stager/files/manifest/manifest.h), so that every
    /// member knows before the first packet whether it has enough space. Untrusted input.
    std::vector<std::byte> offer;
    std::uint32_t mtu = 1500;  ///< The smallest of its interfaces' MTUs, bytes.
    std::uint8_t rails = 1;    ///< Its number of interfaces.
    /// 0: the member takes part by multicast. Otherwise `port` is the TCP port on which it
    /// listens, and the source's is the degree of the relay's tree; 255: there are two trees.
    std::uint8_t relay_degree = 0;
    /// The TCP port on which a member that takes part by multicast listens in case the
    /// group goes on by a relay; 0: it cannot.
    std::uint16_t relay_port = 0;

    friend bool operator==(const Card&, const Card&) = default;
};

/// Card i belongs to rank i.
using CardTable = std::vector<Card>;

/// Requires a card that checked_card() accepts.
[[nodiscard]] std::vector<std::byte> encode_card(const Card& card);
/// Encodes the card; fails (Blame::internal) if no member would accept it.
[[nodiscard]] Result<std::vector<std::byte>> checked_card(const Card& card);
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

/// Fails, naming the ranks, unless the table is complete: each rank once and at its place, no
/// incarnation and no address with port twice.
[[nodiscard]] Status check_cards(const CardTable& cards);

/// Names a member in messages: "rank 3 (n3, 10.77.1.4)".
[[nodiscard]] std::string describe(const Card& card);

}  // namespace stage
