#include "transport/base/codec.h"

#include "tests/unit/hex.h"

#include <catch2/catch.hpp>

using namespace stage;
using stage::test::hex;
using stage::test::unhex;

TEST_CASE("numbers and strings have one form, big end first") {
    ByteWriter out;
    out.u8(0xab).u16(0x0102).u32(0x03040506).u64(0x0708090a0b0c0d0eU).text("hi").blob({});
    CHECK(hex(out.view()) == "ab0102030405060708090a0b0c0d0e00000002686900000000");
}

TEST_CASE("what was written is read back") {
    const auto bytes = unhex("ab0102030405060708090a0b0c0d0e00000002686900000000");
    ByteReader in{bytes};
    CHECK(in.u8() == 0xab);
    CHECK(in.u16() == 0x0102);
    CHECK(in.u32() == 0x03040506);
    CHECK(in.u64() == 0x0708090a0b0c0d0eU);
    CHECK(in.text(2) == "hi");
    CHECK_FALSE(in.finished());
    CHECK(in.blob(0).empty());
    CHECK(in.finished());
}

TEST_CASE("a reader that failed stays failed and gives zeros") {
    const auto bytes = unhex("010203");
    ByteReader in{bytes};
    CHECK(in.u32() == 0);
    CHECK_FALSE(in.ok());
    CHECK(in.u8() == 0);
    CHECK(in.left() == 0);
    CHECK_FALSE(in.finished());
}

TEST_CASE("a length is believed only as far as the limit and the bytes go") {
    const auto bytes = unhex("00000004 61626364");
    ByteReader exact{bytes};
    CHECK(exact.text(4) == "abcd");
    ByteReader strict{bytes};
    CHECK(strict.text(3).empty());
    CHECK_FALSE(strict.ok());
    const auto liar = unhex("ffffffff 61");
    ByteReader reader{liar};
    CHECK(reader.blob(0xffffffffU).empty());
    CHECK_FALSE(reader.ok());
}
