// Reads and writes the headers of the broadcast's packets.
//
// docs/protocol, 3, is normative, and the golden vectors in tests/unit/wire check both. There
// are two forms: a DATA packet with a 16-byte header (28 bytes with its 12-byte tag, so that
// wire time stays within 1.048 of raw at MTU 1500), and control packets with a 16-byte header
// that carries the whole packet number, followed by a typed body.
//
//   DATA     0        1            2..5     6..7  8..9        10..13  14..15
//            ver|type flags|flow   session  rank  pn (low 16) block   chunk    payload  tag
//   control  0        1            2..5     6..7  8..15
//            ver|type flags|flow   session  rank  pn (64)                      body     tag
//
// Network byte order. `tag` is 12 bytes of AES-128-GCM under protection encrypt and auth,
// CRC32C in 4 bytes under none; it covers header and rest. transport/seal opens and seals.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <optional>

namespace stage::wire {

/// The versions of the protocol that this program speaks, inclusive. Business cards carry the
/// range, and a group uses the highest version that all its members speak.
inline constexpr std::uint8_t kVersionLowest = 1;
inline constexpr std::uint8_t kVersionHighest = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kTagBytes = 12;
inline constexpr std::size_t kCrcBytes = 4;
/// The largest body of a control packet, bytes: it fits the smallest MTU accepted (1280).
inline constexpr std::size_t kMaxBodyBytes = 1200;
/// The smallest and the largest payload of a full DATA packet, bytes. The largest is a block.
inline constexpr std::uint32_t kMinChunkBytes = 512;
inline constexpr std::uint32_t kMaxChunkBytes = kBlockBytes;
/// The largest payload where packets are datagrams, bytes: jumbo frames of 9,000 bytes.
inline constexpr std::uint32_t kMaxDatagramChunkBytes = 8928;

/// 4 bits. Unknown ones are counted and dropped. Append only.
enum class PacketType : std::uint8_t {
    data = 1,      ///< A chunk of a block: from the source to the group, or a repair to a peer.
    describe = 2,  ///< Descriptors of blocks: length, encoding, leaf digest.
    /// Source to group: the object's shape; it also proves that the group is heard.
    offer = 3,
    ready = 4,     ///< Member to source: answers an OFFER, or solicits one.
    request = 5,   ///< Member to peer: requests missing chunks and descriptors.
    lacking = 6,   ///< Peer's answer: the requested chunks that it does not have.
    report = 7,    ///< Representative to source: what arrived, what is missing.
    done = 8,      ///< Up the ACK tree: the set of ranks that hold the object.
    done_ack = 9,  ///< Down to the child: acknowledges its set.
    release = 10,  ///< Source to group: the outcome; every member may leave.
    leave = 11,    ///< Member to source: it cannot go on, and the reason.
    end = 12,      ///< Source to group: the first pass is over.
    /// Source to group, or to a member outside it: when this was sent, and the progress.
    pulse = 13,
    /// Member to source: whether multicast reaches it.
    left = 14,
    /// A type of a later release, which the body's first two bytes name.
    extended = 15,
};

/// 4 bits beside the flow; a bit's meaning depends on the type. A packet with an unknown
/// critical flag is dropped.
enum PacketFlag : std::uint8_t {
    kFlagRepeat = 0x1,  ///< DATA that was sent before, by any member.
    kFlagHolds = 0x2,   ///< READY: its sender holds the object already.
    kFlagBusy = 0x1,    ///< LACKING: its sender has no room to answer; ask again, or another.
    kFlagAwaits =
        0x1,  ///< PULSE down a relay: its sender has nothing yet of what was requested.
    /// Critical: a receiver that does not know a flag drops and counts the packet.
    kFlagCritical = 0x8,
};

struct Header {
    std::uint8_t version = kVersionHighest;  ///< 4 bits.
    PacketType type = PacketType::data;
    std::uint8_t flags = 0;  ///< 4 bits.
    Flow flow;               ///< 4 bits.
    std::uint32_t session = 0;
    Rank rank;  ///< The sender.
    /// Complete in a control packet; in a DATA packet the low 16 bits until it is expanded.
    std::uint64_t packet_number = 0;
    BlockIndex block;  ///< DATA only.
    ChunkIndex chunk;  ///< DATA only.

    [[nodiscard]] bool is_data() const { return type == PacketType::data; }
    friend bool operator==(const Header&, const Header&) = default;
};

/// Why a packet's header was refused. The caller counts it.
enum class HeaderFault : std::uint8_t { too_short, version, type, critical };

/// Writes 16 bytes. Requires out.size() >= kHeaderBytes.
void write_header(const Header& header, MutableBytes out);

/// Reads the first 16 bytes. Returns nothing and sets `fault` if they are not valid.
[[nodiscard]] std::optional<Header> read_header(Bytes packet, HeaderFault& fault);

/// The packet number nearest to the one after `largest` whose low 16 bits are `truncated`
/// (RFC 9000, appendix A.3).
[[nodiscard]] std::uint64_t expand(std::uint64_t largest, std::uint16_t truncated);

}  // namespace stage::wire
