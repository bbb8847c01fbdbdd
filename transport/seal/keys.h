// Derives the key that seals a sender's packets.
//
// Each sender has its own, derived from the group key, the session, its rank, a 128-bit
// incarnation that it drew when it started, and an epoch of 2^26 packets. No two senders, runs
// or epochs share a nonce space, so a nonce is used once. HKDF-SHA256 (RFC 5869); nonce = iv
// xor packet number as in TLS 1.3 (RFC 8446, 5.3). docs/protocol, 2.2.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/settings/choices.h"

#include <array>
#include <cstdint>

namespace stage::seal {

using GroupKey = std::array<std::byte, 32>;
using SessionId = std::array<std::byte, 16>;
using Incarnation = std::array<std::byte, 16>;

/// The part of the session id in every header, by which a receiver distinguishes sessions
/// before it opens a packet.
[[nodiscard]] std::uint32_t demux(const SessionId& session);

/// The session of the relay by which a group goes on whose multicast session this was. Every
/// key of it differs, although ranks and incarnations are the same.
[[nodiscard]] SessionId relay_session(const SessionId& multicast);

inline constexpr unsigned kEpochShift = 26;

[[nodiscard]] constexpr std::uint32_t epoch_of(std::uint64_t packet_number) {
    return static_cast<std::uint32_t>(packet_number >> kEpochShift);
}

struct PacketKey {
    std::array<std::byte, 16> key;  ///< AES-128.
    std::array<std::byte, 12> iv;
};

/// The sender and the epoch that a key belongs to.
struct SenderEpoch {
    Rank rank;
    Incarnation incarnation{};
    std::uint32_t epoch = 0;
};

[[nodiscard]] PacketKey derive(const GroupKey& group,
                               const SessionId& session,
                               const SenderEpoch& sender);

/// The nonce of one packet: used once, because a retransmission has a new number.
[[nodiscard]] std::array<std::byte, 12> nonce(const PacketKey& key,
                                              std::uint64_t packet_number);

}  // namespace stage::seal
