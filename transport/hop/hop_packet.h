// Reads and writes the datagrams of a hop: a connection of two members over UDP.
//
//            0     1..8      9..
//   HELLO    kind  dialler   stamp u32                                     padding
//   WELCOME  kind  dialler   stamp u32, listener u64                       padding
//   CONFIRM  kind  listener  dialler u64, RTT u32 (us), datagram bytes u16
//   PIECE    kind  to        number u32, message u32, index u8, count u8   payload
//   ACK      kind  to        largest u32, delay u32, runs u8, {missing, present u32}*
//   BYE      kind  to
//
// Network byte order. `dialler` and `listener` are 64 bits, one of each end of a connection; a
// datagram carries that of the end which it goes to, so that a host which does not see the
// path can forge none. Nothing of this is sealed: a message is (transport/seal), and a piece
// that was changed on the way makes its message one that does not open. A message,
// one packet of the session, goes in pieces of one size but the last; each piece that is sent
// has a number of its own, also if it repeats one. docs/protocol/hop.md is normative.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace stage::hop {

/// The longest datagram whose payload is tried, bytes: with IPv6's header it fits 1,500.
inline constexpr std::size_t kLongDatagram = 1452;
/// What every path carries: IPv6's smallest MTU without its header and UDP's.
inline constexpr std::size_t kShortDatagram = 1232;
inline constexpr std::size_t kPieceHeadBytes = 19;
/// Pieces of a message at most: a bit each.
inline constexpr std::size_t kPiecesMax = 64;
inline constexpr std::size_t kRunsMax = 32;
/// In front of a message: its place among those that have one, from 1 on; 0: none.
inline constexpr std::size_t kOrderBytes = 4;

enum class Kind : std::uint8_t {
    hello = 0x51,
    welcome = 0x52,
    confirm = 0x53,
    piece = 0x54,
    ack = 0x55,
    bye = 0x56,
};

/// The kind and the number at offset 1; nothing if the datagram is none of a hop.
struct Head {
    Kind kind = Kind::bye;
    std::uint64_t to = 0;  ///< In HELLO: the dialler's own number.
};
[[nodiscard]] std::optional<Head> read_head(Bytes datagram);

struct Hello {
    std::uint64_t dialler = 0;
    std::uint32_t stamp = 0;  ///< The dialler's; WELCOME carries it back.
};
struct Welcome {
    std::uint64_t dialler = 0;
    std::uint32_t stamp = 0;
    std::uint64_t listener = 0;
};
struct Confirm {
    std::uint64_t listener = 0;
    std::uint64_t dialler = 0;
    std::uint32_t round_trip_us = 0;
    std::uint16_t datagram_bytes = 0;  ///< kShortDatagram or kLongDatagram.
};
struct Piece {
    std::uint64_t to = 0;
    std::uint32_t number = 0;  ///< The low 32 bits.
    std::uint32_t message = 0;
    std::uint8_t index = 0;
    std::uint8_t count = 1;  ///< 1 to kPiecesMax.
    Bytes payload{};         ///< Not empty. Borrowed.
};
/// Numbers that arrived, downwards: `missing` that did not, then `present` that did.
struct AckRun {
    std::uint32_t missing = 0;  ///< 0 in the first run.
    std::uint32_t present = 0;

    friend bool operator==(const AckRun&, const AckRun&) = default;
};
struct Ack {
    std::uint64_t to = 0;
    std::uint32_t largest = 0;   ///< The low 32 bits.
    std::uint32_t delay_us = 0;  ///< Since the largest arrived.
    std::vector<AckRun> runs{};
};

/// HELLO and WELCOME have `bytes`: what comes back shows what the path carries, and an answer
/// is no longer than its question.
[[nodiscard]] std::vector<std::byte> write_hello(const Hello& hello, std::size_t bytes);
[[nodiscard]] std::vector<std::byte> write_welcome(const Welcome& welcome, std::size_t bytes);
[[nodiscard]] std::vector<std::byte> write_confirm(const Confirm& confirm);
/// Writes kPieceHeadBytes; the payload follows. Requires that room.
void write_piece_head(const Piece& piece, MutableBytes out);
[[nodiscard]] std::vector<std::byte> write_ack(const Ack& ack);
[[nodiscard]] std::vector<std::byte> write_bye(std::uint64_t to);

/// Each reads a whole datagram of its kind, and returns nothing if it is malformed.
[[nodiscard]] std::optional<Hello> read_hello(Bytes datagram);
[[nodiscard]] std::optional<Welcome> read_welcome(Bytes datagram);
[[nodiscard]] std::optional<Confirm> read_confirm(Bytes datagram);
[[nodiscard]] std::optional<Piece> read_piece(Bytes datagram);
[[nodiscard]] std::optional<Ack> read_ack(Bytes datagram);

/// The number nearest to `near` whose low 32 bits are `low`.
[[nodiscard]] std::uint64_t expand(std::uint64_t near, std::uint32_t low);

}  // namespace stage::hop
