// Fuzzes one end of a hop with datagrams, times and packets to send.
//
// The input is a list of events: a byte that says what happens, then what that needs. Whatever
// datagrams come, the end says when it is to be called again, and what it sends can be read.
#include "transport/hop/hop_link.h"

#include "tests/fuzz/fuzz.h"

#include <array>
#include <chrono>

namespace stage {
namespace {

constexpr std::uint64_t kOwn = 1;
constexpr std::uint64_t kPeer = 2;

void check_sent(Bytes datagram) {
    const auto head = hop::read_head(datagram);
    invariant(head && head->to == kPeer, "a datagram goes to the other end");
    invariant(head->kind != hop::Kind::piece || hop::read_piece(datagram), "a piece");
    invariant(head->kind != hop::Kind::ack || hop::read_ack(datagram), "an ACK");
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader in{input};
    Instant now{std::chrono::seconds{1}};
    hop::HopLink link{kOwn, 0};
    link.begin(now, {.to = kPeer, .round_trip = std::chrono::milliseconds{10}});
    std::vector<std::vector<std::byte>> arrived;
    bool is_read = false;
    std::array<std::byte, hop::kLongDatagram> room;
    while (in.ok() && in.left() > 0) {
        const std::uint8_t what = in.u8();
        now += std::chrono::microseconds{(what >> 2U) * 500U};
        if ((what & 3U) == 0) {
            link.push(std::vector<std::byte>(1U + in.u8() * 60U, std::byte{7}),
                      (what & 4U) != 0);
        } else if ((what & 3U) == 1) {
            link.on_time(now);
        } else {
            const Bytes datagram = piece_of(in);
            const auto head = hop::read_head(datagram);
            if (head) {
                is_read = true;
                link.on_datagram(now, head->kind, datagram);
            }
        }
        for (int sent = 0; sent < 100; ++sent) {
            const std::size_t bytes = link.next(now, room);
            if (bytes == 0) {
                break;
            }
            check_sent(Bytes{room}.first(bytes));
        }
        link.take(arrived);
        invariant(link.deadline().has_value(), "an end that stands knows when it is silent");
    }
    for (const auto& message : arrived) {
        invariant(message.size() > hop::kOrderBytes, "a packet is not empty");
    }
    return is_read;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto piece = [](hop::Piece head, std::string_view payload) {
        std::vector<std::byte> datagram(hop::kPieceHeadBytes);
        head.to = kOwn;
        hop::write_piece_head(head, datagram);
        datagram.insert(datagram.end(), as_bytes(payload).begin(), as_bytes(payload).end());
        return datagram;
    };
    using namespace std::string_view_literals;
    ByteWriter heard;
    for (const auto& datagram : {piece({.number = 0}, "\0\0\0\1ready"sv),
                                 piece({.number = 2, .message = 2}, "\0\0\0\0data"sv),
                                 piece({.number = 1, .message = 1}, "\0\0\0\2more"sv)}) {
        heard.u8(6);
        put_piece(heard, text_of(datagram));
    }
    heard.u8(0xff).u8(1);
    ByteWriter sent;
    sent.u8(4).u8(3).u8(0).u8(200).u8(9).u8(2);
    put_piece(
        sent,
        text_of(hop::write_ack({.to = kOwn,
                                .largest = 3,
                                .runs = {{.present = 1}, {.missing = 2, .present = 1}}})));
    sent.u8(0xff).u8(0xff).u8(2);
    put_piece(sent, text_of(hop::write_bye(kOwn)));
    return {{"heard", heard.take()}, {"sent", sent.take()}};
}

}  // namespace stage
