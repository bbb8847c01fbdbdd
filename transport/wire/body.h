// Reads and writes the bodies of control packets.
//
// There is one struct for each packet type with its byte table, a writer, and a reader that
// trusts nothing: every count is checked against the bytes present, and every list has a limit.
// Every body ends in TLVs (tlv.h), and its lists leave room for some: a longer body is one of a
// later release. docs/protocol, 3.3 and 3.4, is normative.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage::wire {

/// A leaf digest: XXH3-128 of the block's decoded bytes, canonical (big-endian) form.
using Leaf = std::array<std::byte, 16>;

/// How a block's bytes travel. Append only; a receiver refuses an object with an unknown one.
enum class Encoding : std::uint8_t {
    raw = 0,
    hole = 1,  ///< All zeros: no chunk is sent.
    zstd = 2,  ///< One frame that decompresses to the whole block.
};

/// length u32 (decoded bytes, 1..1 MiB) | wire_length u32 (bytes in chunks) | encoding u8 |
/// leaf 16
struct Descriptor {
    std::uint32_t length = 0;
    std::uint32_t wire_length = 0;
    Encoding encoding = Encoding::raw;
    Leaf leaf{};

    friend bool operator==(const Descriptor&, const Descriptor&) = default;
};
inline constexpr std::size_t kDescriptorBytes = 25;
inline constexpr std::size_t kMaxDescriptors = 40;  ///< In one DESCRIBE.

/// Which receivers represent the others: version u16 | count u8 | count x rank u16. A set of a
/// higher version replaces the one before.
struct Representatives {
    std::uint16_t version = 0;  ///< 1 or more.
    std::vector<Rank> ranks;    ///< At most kMaxRepresentatives.

    friend bool operator==(const Representatives&, const Representatives&) = default;
};
inline constexpr std::size_t kMaxRepresentatives = 32;

/// DESCRIBE: first u32 | count u8 | count x descriptor | optional TLV representatives
struct Describe {
    BlockIndex first;
    std::vector<Descriptor> descriptors;  ///< 1..kMaxDescriptors, of consecutive blocks.
    std::optional<Representatives> representatives = {};
};

/// A run of ranks. first u16 | last u16
struct RankRun {
    Rank first;
    Rank last;  ///< Inclusive, >= first.

    friend bool operator==(const RankRun&, const RankRun&) = default;
};

/// OFFER: blocks u32 | object_bytes u64 | chunk_bytes u32 | source_time_us u64 | parities u8 |
///        count u8 | count x rank run | count u8 | count x descriptor |
///        optional TLV representatives,
/// then padding to the length of a packet with chunk_bytes of payload: a receiver that hears
/// the OFFER hears such packets, too. (Not where chunk_bytes is above kMaxDatagramChunkBytes:
/// such a transport has no path MTU to test.)
struct Offer {
    std::uint32_t blocks = 0;        ///< 1 or more.
    std::uint64_t object_bytes = 0;  ///< Sum of the decoded lengths.
    /// Payload of every DATA packet except a block's last.
    std::uint32_t chunk_bytes = 0;
    /// The source's own clock, to be echoed; means nothing else.
    std::uint64_t source_time_us = 0;
    std::uint8_t parities = 0;  ///< Parities after the last block, at most kMaxParities.
    /// The ranks that shall answer, at most kMaxAwaitedRuns; empty: all.
    std::vector<RankRun> awaited;
    /// Descriptors of all blocks of an object that travels with its OFFERs; otherwise empty.
    std::vector<Descriptor> descriptors;
    std::optional<Representatives> representatives = {};  ///< None: all receivers are.
};

inline constexpr std::uint8_t kMaxParities = 32;
/// Limit of an OFFER: it fits the smallest chunk.
inline constexpr std::size_t kMaxAwaitedRuns = 48;
inline constexpr std::size_t kMaxOfferedDescriptors = 8;

/// READY: source_time_us u64 (echo; 0: a solicitation) | hold_us u32 | held u32
struct Ready {
    std::uint64_t source_time_us = 0;
    std::uint32_t hold_us = 0;  ///< From hearing the OFFER to sending this.
    std::uint32_t held = 0;     ///< The number of first blocks that the member holds already.
};

/// Chunks `first` .. `first + count - 1` of a block; count 0 requests the block's descriptor.
/// block u32 | first u16 | count u16
struct ChunkRun {
    BlockIndex block;
    std::uint16_t first = 0;
    std::uint16_t count = 0;

    friend bool operator==(const ChunkRun&, const ChunkRun&) = default;
};
inline constexpr std::size_t kMaxRuns = 128;

/// REQUEST and LACKING: request_id u32 | count u8 | count x run. A LACKING with kFlagBusy lists
/// what its sender may have, but has no room to answer now.
struct Request {
    std::uint32_t id = 0;  ///< Drawn by the requester; a LACKING echoes it.
    std::vector<ChunkRun> runs;
};

/// ECN: how many multicast packets since the last report had each mark.
/// ect0 u32 | ect1 u32 | ce u32
struct EcnCounts {
    std::uint32_t ect0 = 0;
    std::uint32_t ect1 = 0;
    std::uint32_t ce = 0;

    friend bool operator==(const EcnCounts&, const EcnCounts&) = default;
};

/// REPORT: mark u64 | mark_at_ns u64 | span u32 | span_ns u32 | received u32 | drain u32 |
///         overflow u32 | fill u8 | hold_us u32 | heard u32 | blocks_held u32 | placed u32 |
///         count u8 | count x run | optional TLV ecn
///
/// A *mark* is a multicast packet of the source whose arrival time is its own (of packets that
/// the kernel delivers as one piece, the first). Spans follow each other without a gap, unless
/// a report is lost.
struct Report {
    std::uint64_t mark = 0;        ///< The mark's packet number; 0: none yet.
    std::uint64_t mark_at_ns = 0;  ///< When it arrived, by the receiver's own clock.
    /// Packet numbers from the mark of the last report to this one.
    std::uint32_t span = 0;
    std::uint32_t span_ns = 0;   ///< The time between their arrivals, at most 4.29 s.
    std::uint32_t received = 0;  ///< Multicast packets of the span, the first mark included.
    std::uint32_t drain = 0;     ///< Multicast packets that the receiver read per second.
    std::uint32_t overflow = 0;  ///< Packets that its socket dropped since the last report.
    std::uint8_t fill = 0;       ///< The fill of its socket's buffer, in 255ths.
    std::uint32_t hold_us = 0;   ///< From the mark's arrival to this report.
    std::uint32_t heard = 0;     ///< Multicast packets since the last report.
    std::uint32_t blocks_held = 0;
    std::uint32_t placed = 0;  ///< Chunks placed so far, modulo 2^32.
    /// What is newly missing since the last report, at most kMaxRuns.
    std::vector<ChunkRun> missing;
    std::optional<EcnCounts> ecn = {};  ///< Where the receiver's driver sees the marks.
};

inline constexpr std::size_t kMaxRankRuns = 256;

/// DONE and DONE_ACK: count u16 | count x rank run. A set, so repeating it is harmless.
struct Done {
    std::vector<RankRun> ranks;
};

/// RELEASE: outcome u8 (0 all hold it, 1 failed by a cause that the user can remedy, 2 by a
/// node) | rank u16 (the member that failed) | text (reason, UTF-8, <= 900 bytes). LEAVE has
/// the same bytes: its outcome is 1 or 2 and its rank the sender's. A RELEASE of a group that
/// went on without some members has the TLV dropped: all u16 (their number) | count u8 |
/// count x rank run (the first of them). One by which the group goes on over a relay has
/// outcome 2 and the TLV relay: degree u8. The TLV unreached has count x rank run, the first
/// members that multicast does not reach.
struct Ending {
    static constexpr std::uint8_t kUsers = 1;
    static constexpr std::uint8_t kNodes = 2;

    std::uint8_t outcome = 0;
    Rank rank;
    std::string why;
    std::uint16_t dropped_all = 0;  ///< How many members were dropped,
    /// and the first of them; if these are fewer, there are too many to list.
    std::vector<RankRun> dropped = {};
    std::uint8_t relay_degree = 0;  ///< Not 0: of the relay by which the group goes on.
    std::vector<RankRun> unreached = {};
};
inline constexpr std::size_t kMaxWhyBytes = 900;
inline constexpr std::size_t kMaxDroppedRuns = 48;
inline constexpr std::size_t kMaxUnreachedRuns = 14;

/// END: blocks u32
struct End {
    std::uint32_t blocks = 0;
};

/// PULSE: sent_at_ns u64 | packets u32 | block u32 | chunk u16 | queue_us u32 | away u16 |
///        echo u32 | optional TLVs joined: count x rank run, gained: blocks u64
struct Pulse {
    /// By the source's own clock; only differences have a meaning.
    std::uint64_t sent_at_ns = 0;
    std::uint32_t packets = 0;  ///< Sent to the group before this, modulo 2^32.
    BlockIndex block;           ///< Everything before this place was sent;
    std::uint16_t chunk = 0;    ///< the block after the last one: everything.
    /// Up a relay: the age of the newest sign of progress. Otherwise 0.
    std::uint32_t queue_us = 0;
    std::uint16_t away = 0;  ///< The number of receivers that multicast does not reach.
    std::uint32_t echo = 0;  ///< The id of the LEFT that this answers; 0: none.
    /// Up a relay: the sender and the members that are connected below it, at most
    /// kMaxRankRuns. Empty if that is not said.
    std::vector<RankRun> joined = {};
    /// Up a relay: the blocks that the sender and the members that were ever connected below it
    /// have gained. It never falls.
    std::uint64_t gained = 0;
};

/// A member's relation to the multicast group. Append only.
enum class Standing : std::uint8_t {
    in_group = 0,     ///< The default.
    away = 1,         ///< Not sent; nothing follows from it.
    fetching = 2,     ///< Not sent; nothing follows from it.
    unreachable = 3,  ///< Multicast does not reach it; it fetches the object.
};

/// LEFT: id u32 | standing u8
struct Left {
    /// 1 or more, drawn by the sender; the PULSE that answers echoes it.
    std::uint32_t id = 0;
    Standing standing = Standing::in_group;
};

[[nodiscard]] std::vector<std::byte> write(const Describe& body);
[[nodiscard]] std::vector<std::byte> write(const Offer& body);
[[nodiscard]] std::vector<std::byte> write(const Ready& body);
[[nodiscard]] std::vector<std::byte> write(const Request& body);
[[nodiscard]] std::vector<std::byte> write(const Report& body);
[[nodiscard]] std::vector<std::byte> write(const Done& body);
[[nodiscard]] std::vector<std::byte> write(const Ending& body);
[[nodiscard]] std::vector<std::byte> write(const End& body);
[[nodiscard]] std::vector<std::byte> write(const Pulse& body);
[[nodiscard]] std::vector<std::byte> write(const Left& body);
/// Appends the TLV to the body of a DESCRIBE.
void append(std::vector<std::byte>& body, const Representatives& representatives);

/// Each returns nothing for a body that is short or out of its stated ranges, or that ends in a
/// critical TLV that is not known.
[[nodiscard]] std::optional<Describe> read_describe(Bytes body);
[[nodiscard]] std::optional<Offer> read_offer(Bytes body);
[[nodiscard]] std::optional<Ready> read_ready(Bytes body);
[[nodiscard]] std::optional<Request> read_request(Bytes body);
[[nodiscard]] std::optional<Report> read_report(Bytes body);
[[nodiscard]] std::optional<Done> read_done(Bytes body);
[[nodiscard]] std::optional<Ending> read_ending(Bytes body);
[[nodiscard]] std::optional<End> read_end(Bytes body);
[[nodiscard]] std::optional<Pulse> read_pulse(Bytes body);
[[nodiscard]] std::optional<Left> read_left(Bytes body);

}  // namespace stage::wire
