#include "transport/hop/hop_packet.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"

#include <algorithm>

namespace stage::hop {
namespace {

constexpr std::size_t kHeadBytes = 9;

ByteWriter begin(Kind kind, std::uint64_t to) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(kind)).u64(to);
    return out;
}

/// What follows the head, if the datagram is of that kind.
std::optional<ByteReader> body_of(Bytes datagram, Kind kind) {
    const auto head = read_head(datagram);
    return head && head->kind == kind ? std::optional{ByteReader{datagram.subspan(kHeadBytes)}}
                                      : std::nullopt;
}

std::vector<std::byte> padded(ByteWriter out, std::size_t bytes) {
    auto datagram = out.take();
    datagram.resize(std::max(bytes, datagram.size()));
    return datagram;
}

template <class Unsigned>
void put(MutableBytes out, std::size_t at, Unsigned value) {
    for (std::size_t i = sizeof value; i-- > 0; value >>= 8U) {
        out[at + i] = static_cast<std::byte>(value & 0xffU);
    }
}

}  // namespace

std::optional<Head> read_head(Bytes datagram) {
    ByteReader in{datagram};
    const std::uint8_t kind = in.u8();
    const std::uint64_t to = in.u64();
    const bool is_known = kind >= static_cast<std::uint8_t>(Kind::hello) &&
                          kind <= static_cast<std::uint8_t>(Kind::bye);
    return in.ok() && is_known ? std::optional{Head{.kind = Kind{kind}, .to = to}}
                               : std::nullopt;
}

std::vector<std::byte> write_hello(const Hello& hello, std::size_t bytes) {
    ByteWriter out = begin(Kind::hello, hello.dialler);
    out.u32(hello.stamp);
    return padded(std::move(out), bytes);
}

std::optional<Hello> read_hello(Bytes datagram) {
    auto in = body_of(datagram, Kind::hello);
    // A shorter question than its answer would multiply what a forged sender sends.
    if (!in || datagram.size() < kShortDatagram) {
        return std::nullopt;
    }
    return Hello{.dialler = read_head(datagram)->to, .stamp = in->u32()};
}

std::vector<std::byte> write_welcome(const Welcome& welcome, std::size_t bytes) {
    ByteWriter out = begin(Kind::welcome, welcome.dialler);
    out.u32(welcome.stamp).u64(welcome.listener);
    return padded(std::move(out), bytes);
}

std::optional<Welcome> read_welcome(Bytes datagram) {
    auto in = body_of(datagram, Kind::welcome);
    if (!in) {
        return std::nullopt;
    }
    Welcome welcome{.dialler = read_head(datagram)->to};
    welcome.stamp = in->u32();
    welcome.listener = in->u64();
    const bool is_whole = in->ok() && datagram.size() >= kShortDatagram;
    return is_whole ? std::optional{welcome} : std::nullopt;
}

std::vector<std::byte> write_confirm(const Confirm& confirm) {
    ByteWriter out = begin(Kind::confirm, confirm.listener);
    out.u64(confirm.dialler).u32(confirm.round_trip_us).u16(confirm.datagram_bytes);
    return out.take();
}

std::optional<Confirm> read_confirm(Bytes datagram) {
    auto in = body_of(datagram, Kind::confirm);
    if (!in) {
        return std::nullopt;
    }
    Confirm confirm{.listener = read_head(datagram)->to};
    confirm.dialler = in->u64();
    confirm.round_trip_us = in->u32();
    confirm.datagram_bytes = in->u16();
    const bool is_size =
        confirm.datagram_bytes == kShortDatagram || confirm.datagram_bytes == kLongDatagram;
    return in->finished() && is_size ? std::optional{confirm} : std::nullopt;
}

void write_piece_head(const Piece& piece, MutableBytes out) {
    invariant(out.size() >= kPieceHeadBytes, "a piece's head has its room");
    out[0] = static_cast<std::byte>(Kind::piece);
    put(out, 1, piece.to);
    put(out, 9, piece.number);
    put(out, 13, piece.message);
    put(out, 17, piece.index);
    put(out, 18, piece.count);
}

std::optional<Piece> read_piece(Bytes datagram) {
    auto in = body_of(datagram, Kind::piece);
    if (!in) {
        return std::nullopt;
    }
    Piece piece{.to = read_head(datagram)->to};
    piece.number = in->u32();
    piece.message = in->u32();
    piece.index = in->u8();
    piece.count = in->u8();
    piece.payload = in->raw(in->left());
    const bool is_one = in->ok() && !piece.payload.empty() && piece.count >= 1 &&
                        piece.count <= kPiecesMax && piece.index < piece.count;
    return is_one ? std::optional{piece} : std::nullopt;
}

std::vector<std::byte> write_ack(const Ack& ack) {
    invariant(!ack.runs.empty() && ack.runs.size() <= kRunsMax, "an ACK has 1 to 32 runs");
    ByteWriter out = begin(Kind::ack, ack.to);
    out.u32(ack.largest).u32(ack.delay_us).u8(static_cast<std::uint8_t>(ack.runs.size()));
    for (const AckRun& run : ack.runs) {
        out.u32(run.missing).u32(run.present);
    }
    return out.take();
}

std::optional<Ack> read_ack(Bytes datagram) {
    auto in = body_of(datagram, Kind::ack);
    if (!in) {
        return std::nullopt;
    }
    Ack ack{.to = read_head(datagram)->to};
    ack.largest = in->u32();
    ack.delay_us = in->u32();
    const std::size_t runs = in->u8();
    bool is_one = runs >= 1 && runs <= kRunsMax;
    for (std::size_t i = 0; is_one && i < runs; ++i) {
        AckRun run{.missing = in->u32()};
        run.present = in->u32();
        is_one = run.present > 0 && (run.missing == 0) == (i == 0);
        ack.runs.push_back(run);
    }
    return is_one && in->finished() ? std::optional{std::move(ack)} : std::nullopt;
}

std::vector<std::byte> write_bye(std::uint64_t to) {
    return begin(Kind::bye, to).take();
}

std::uint64_t expand(std::uint64_t near, std::uint32_t low) {
    constexpr std::uint64_t kWindow = std::uint64_t{1} << 32U;
    const std::uint64_t candidate = (near & ~(kWindow - 1)) | low;
    if (candidate + kWindow / 2 <= near) {
        return candidate + kWindow;
    }
    if (candidate > near + kWindow / 2 && candidate >= kWindow) {
        return candidate - kWindow;
    }
    return candidate;
}

}  // namespace stage::hop
