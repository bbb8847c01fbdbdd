// Tests the datagrams of a hop: what is written is read, and what is none is refused.
#include "transport/hop/hop_packet.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage::hop {
namespace {

TEST_CASE("a HELLO is as long as it is asked to be, and a short one is refused") {
    const auto hello = write_hello({.dialler = 0x0102030405060708, .stamp = 9}, kLongDatagram);
    CHECK(hello.size() == kLongDatagram);
    const auto read = read_hello(hello);
    REQUIRE(read);
    CHECK(read->dialler == 0x0102030405060708);
    CHECK(read->stamp == 9);
    CHECK_FALSE(read_hello(Bytes{hello}.first(kShortDatagram - 1)));
    CHECK_FALSE(read_welcome(hello));
}

TEST_CASE("WELCOME and CONFIRM carry both numbers") {
    const auto welcome =
        read_welcome(write_welcome({.dialler = 1, .stamp = 2, .listener = 3}, kShortDatagram));
    REQUIRE(welcome);
    CHECK(welcome->dialler == 1);
    CHECK(welcome->stamp == 2);
    CHECK(welcome->listener == 3);
    Confirm said{
        .listener = 3, .dialler = 1, .round_trip_us = 70'000, .datagram_bytes = kLongDatagram};
    const auto confirm = read_confirm(write_confirm(said));
    REQUIRE(confirm);
    CHECK(confirm->listener == 3);
    CHECK(confirm->dialler == 1);
    CHECK(confirm->round_trip_us == 70'000);
    said.datagram_bytes = 9000;
    CHECK_FALSE(read_confirm(write_confirm(said)));
}

TEST_CASE("a piece has a place among its message's, and bytes") {
    std::vector<std::byte> datagram(kPieceHeadBytes + 5, std::byte{4});
    const Piece said{.to = 7, .number = 0xfffffffe, .message = 5, .index = 2, .count = 3};
    write_piece_head(said, datagram);
    const auto piece = read_piece(datagram);
    REQUIRE(piece);
    CHECK(piece->to == 7);
    CHECK(piece->number == 0xfffffffe);
    CHECK(piece->message == 5);
    CHECK(piece->index == 2);
    CHECK(piece->count == 3);
    CHECK(piece->payload.size() == 5);
    CHECK_FALSE(read_piece(Bytes{datagram}.first(kPieceHeadBytes)));
    datagram[kPieceHeadBytes - 2] = std::byte{3};
    CHECK_FALSE(read_piece(datagram));
    datagram[kPieceHeadBytes - 1] = std::byte{200};
    CHECK_FALSE(read_piece(datagram));
}

TEST_CASE("an ACK's runs go downwards, and none but the first begins at once") {
    const Ack said{.to = 7,
                   .largest = 100,
                   .delay_us = 250,
                   .runs = {{.missing = 0, .present = 4}, {.missing = 2, .present = 9}}};
    const auto ack = read_ack(write_ack(said));
    REQUIRE(ack);
    CHECK(ack->largest == 100);
    CHECK(ack->delay_us == 250);
    CHECK(ack->runs == said.runs);
    CHECK_FALSE(read_ack(write_ack({.runs = {{.missing = 1, .present = 4}}})));
    CHECK_FALSE(read_ack(write_ack({.runs = {{.present = 4}, {.present = 4}}})));
    auto longer = write_ack(said);
    longer.push_back({});
    CHECK_FALSE(read_ack(longer));
}

TEST_CASE("what is no datagram of a hop has no head") {
    CHECK_FALSE(read_head({}));
    CHECK_FALSE(read_head(std::vector<std::byte>(30, std::byte{0x50})));
    CHECK_FALSE(read_head(Bytes{write_bye(1)}.first(8)));
    CHECK(read_head(write_bye(5))->to == 5);
}

TEST_CASE("numbers are expanded to the nearest") {
    constexpr std::uint64_t kTurn = std::uint64_t{1} << 32U;
    CHECK(expand(0, 5) == 5);
    CHECK(expand(kTurn - 1, 0) == kTurn);
    CHECK(expand(kTurn + 3, 0xffffffff) == kTurn - 1);
    CHECK(expand(5 * kTurn + 10, 12) == 5 * kTurn + 12);
    CHECK(expand(3, 0xffffffff) == 0xffffffff);
}

}  // namespace
}  // namespace stage::hop
