// What does a packet of the broadcast look like?
//
// docs/protocol, 3, is normative; the byte tables here are its shadow and the golden
// vectors in tests/unit/wire hold both. Two shapes: a DATA packet with a 16-byte header (with
// its 12-byte tag 28 bytes, so that wire time stays within 1.048 of raw at MTU 1500), and
// control packets with a 16-byte header that carries the whole packet number, then a typed
// body.
//
//   DATA     0        1            2..5     6..7  8..9        10..13  14..15
//            ver|type flags|flow   session  rank  pn (low 16) block   chunk    payload  tag
//   control  0        1            2..5     6..7  8..15
//            ver|type flags|flow   session  rank  pn (64)                      body     tag
//
// Network byte order. `tag` is 12 bytes of AES-128-GCM under protection encrypt and auth,
// CRC32C in 4 bytes under none; it covers header and rest. Nothing here opens or seals:
// transport/seal does.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <optional>

namespace stage::wire {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kTagBytes = 12;
inline constexpr std::size_t kCrcBytes = 4;
/// The largest body of a control packet, so that it fits the smallest MTU we accept (1280),
/// bytes.
inline constexpr std::size_t kMaxBodyBytes = 1200;
/// The smallest and the largest payload of a full DATA packet, bytes.
inline constexpr std::uint16_t kMinChunkBytes = 512;
inline constexpr std::uint16_t kMaxChunkBytes = 8928;

/// 4 bits. Unknown ones are counted and dropped. Append only.
enum class PacketType : std::uint8_t {
    data = 1,      ///< A chunk of a block: from the source to the group, or a repair to a peer.
    describe = 2,  ///< Descriptors of blocks: length, encoding, leaf digest.
    offer =
        3,  ///< Source to group: the object's shape; also the proof that the group is heard.
    ready = 4,     ///< Member to source: I heard your offer.
    request = 5,   ///< Member to peer: chunks and descriptors that I miss.
    lacking = 6,   ///< Peer's answer: of what you asked for I don't have these.
    report = 7,    ///< Representative to source: what arrived, what is missing.
    done = 8,      ///< Up the completion tree: the set of ranks that hold the object.
    done_ack = 9,  ///< Down to the child: your set is known.
    release = 10,  ///< Source to group: everybody may leave; the outcome.
    leave = 11,    ///< Member to source: I can't go on, and why.
    end = 12,      ///< Source to group: the first pass is over.
    pulse = 13,    ///< Source to group, or to one who left it: when I sent this, how far I am.
    left = 14,     ///< Member to source: I left the group, or am back, and go on.
};

/// 4 bits beside the flow. An unknown critical flag refuses the packet.
enum PacketFlag : std::uint8_t {
    kFlagRepeat = 0x1,    ///< DATA sent before, by anyone.
    kFlagHolds = 0x2,     ///< READY: its sender holds the object already.
    kFlagCritical = 0x8,  ///< What isn't understood here must not be guessed: drop and count.
};

struct Header {
    PacketType type = PacketType::data;
    std::uint8_t flags = 0;  ///< 4 bits.
    Flow flow;               ///< 4 bits.
    std::uint32_t session = 0;
    Rank rank;  ///< The sender.
    /// Whole in a control packet; in a DATA packet the low 16 bits until expand() was asked.
    std::uint64_t packet_number = 0;
    BlockIndex block;  ///< DATA only.
    ChunkIndex chunk;  ///< DATA only.

    [[nodiscard]] bool is_data() const { return type == PacketType::data; }
    friend bool operator==(const Header&, const Header&) = default;
};

/// Why a packet's header was refused. Counted by whoever refuses.
enum class HeaderFault : std::uint8_t { too_short, version, type, critical };

/// Writes 16 bytes. Requires out.size() >= kHeaderBytes.
void write_header(const Header& header, MutableBytes out);

/// Reads the first 16 bytes. Nothing if `fault` says why not.
[[nodiscard]] std::optional<Header> read_header(Bytes packet, HeaderFault& fault);

/// The packet number nearest to the one after `largest` whose low 16 bits are `truncated`
/// (RFC 9000, appendix A.3).
[[nodiscard]] std::uint64_t expand(std::uint64_t largest, std::uint16_t truncated);

}  // namespace stage::wire
