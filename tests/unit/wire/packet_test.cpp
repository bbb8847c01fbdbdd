#include "transport/wire/packet.h"

#include "tests/unit/hex.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <array>

using namespace stage;
using namespace stage::wire;
using stage::test::hex;
using stage::test::unhex;

namespace {

std::string written(const Header& header) {
    std::array<std::byte, kHeaderBytes> bytes{};
    write_header(header, bytes);
    return hex(bytes);
}

HeaderFault fault_of(std::string_view text) {
    HeaderFault fault{};
    CHECK_FALSE(read_header(unhex(text), fault));
    return fault;
}

}  // namespace

// Golden, docs/protocol 3.1. Written once; a change is a new version of the protocol.
TEST_CASE("headers have their bytes") {
    const Header data{.type = PacketType::data,
                      .flags = kFlagRepeat,
                      .flow = Flow{3},
                      .session = 0xdeadbeef,
                      .rank = Rank{0x1234},
                      .packet_number = 0x123456789,
                      .block = BlockIndex{0xa0b0c0d0},
                      .chunk = ChunkIndex{0x1f2}};
    CHECK(written(data) == "1113deadbeef12346789a0b0c0d001f2");
    Header control;
    control.type = PacketType::request;
    control.flow = Flow{15};
    control.session = 1;
    control.rank = Rank{0xfffe};
    control.packet_number = 0x0102030405060708;
    CHECK(written(control) == "150f00000001fffe0102030405060708");
}

TEST_CASE("headers are read as they were written, a DATA number by its low half") {
    HeaderFault fault{};
    const auto data = read_header(unhex("1113deadbeef12346789a0b0c0d001f2"), fault);
    REQUIRE(data);
    CHECK(data->packet_number == 0x6789);
    CHECK(data->block == BlockIndex{0xa0b0c0d0});
    CHECK(data->chunk == ChunkIndex{0x1f2});
    CHECK(data->flags == kFlagRepeat);
    CHECK(data->flow == Flow{3});
    const auto control = read_header(unhex("150f00000001fffe0102030405060708"), fault);
    REQUIRE(control);
    CHECK(control->packet_number == 0x0102030405060708);
    CHECK(control->rank == Rank{0xfffe});
}

TEST_CASE("each of the types has its number") {
    const std::array types{PacketType::data,
                           PacketType::describe,
                           PacketType::offer,
                           PacketType::ready,
                           PacketType::request,
                           PacketType::lacking,
                           PacketType::report,
                           PacketType::done,
                           PacketType::done_ack,
                           PacketType::release,
                           PacketType::leave,
                           PacketType::end,
                           PacketType::pulse,
                           PacketType::left,
                           PacketType::extended};
    for (std::size_t i = 0; i < types.size(); ++i) {
        CHECK(static_cast<std::size_t>(types[i]) == i + 1);
    }
}

TEST_CASE("what isn't understood is refused, and why is said") {
    CHECK(fault_of("1113deadbeef12346789a0b0c0d001") == HeaderFault::too_short);
    CHECK(fault_of("") == HeaderFault::too_short);
    CHECK(fault_of("2113deadbeef12346789a0b0c0d001f2") == HeaderFault::version);
    CHECK(fault_of("0113deadbeef12346789a0b0c0d001f2") == HeaderFault::version);
    CHECK(fault_of("1003deadbeef12346789a0b0c0d001f2") == HeaderFault::type);
    CHECK(fault_of("1f83deadbeef12346789a0b0c0d001f2") == HeaderFault::critical);
    CHECK(fault_of("1183deadbeef12346789a0b0c0d001f2") == HeaderFault::critical);
}

TEST_CASE("any sixteen bytes are a header or a reason, and a header writes them again") {
    Prng prng{3};
    for (int i = 0; i < 20'000; ++i) {
        std::array<std::byte, kHeaderBytes> bytes{};
        for (auto& byte : bytes) {
            byte = static_cast<std::byte>(prng.below(256));
        }
        bytes[0] = static_cast<std::byte>(
            (prng.below(4) == 0 ? prng.below(256) : 0x10 | prng.below(16)));
        HeaderFault fault{};
        if (const auto header = read_header(bytes, fault)) {
            CHECK(written(*header) == hex(bytes));
        }
    }
}

// RFC 9000, appendix A.3, for 16 bits.
TEST_CASE("a short number expands to the nearest whole one") {
    CHECK(expand(0, 1) == 1);
    CHECK(expand(0, 0xffff) == 0xffff);  // nothing lies below 0
    CHECK(expand(0xa82f30ea, 0x9b32) == 0xa82f9b32);
    CHECK(expand(0x1ffff, 0x0000) == 0x20000);
    CHECK(expand(0x20000, 0xffff) == 0x1ffff);
    CHECK(expand(0x1fffe, 0x8000) == 0x18000);
    CHECK(expand(0x1ffff, 0x8001) == 0x18001);
    CHECK(expand(0xfffffffffffeffffU, 0xffff) == 0xfffffffffffeffffU);
    CHECK(expand(0xffffffffffffffe0U, 0xffff) == 0xffffffffffffffffU);
    CHECK(expand(0xffffffffffffffe0U, 0x0001) == 0xffffffffffff0001U);  // nothing lies above
}

TEST_CASE("a number within 2^15 of the largest is always found, in both directions") {
    Prng prng{5};
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t largest = 40'000 + prng.below(std::uint64_t{1} << prng.below(50));
        const std::uint64_t forward = largest + 1 + prng.below(32'000);
        const std::uint64_t back = largest - prng.below(32'000);
        CHECK(expand(largest, static_cast<std::uint16_t>(forward & 0xffffU)) == forward);
        CHECK(expand(largest, static_cast<std::uint16_t>(back & 0xffffU)) == back);
    }
}
