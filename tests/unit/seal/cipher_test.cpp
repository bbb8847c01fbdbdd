#include "transport/seal/cipher.h"

#include "tests/unit/hex.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::seal;
using stage::test::hex;
using stage::test::unhex;

// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 4; the tag's first 12
// bytes.
TEST_CASE("encrypt is AES-128-GCM") {
    PacketKey key{};
    const auto raw = unhex("feffe9928665731c6d6a8f9467308308");
    const auto iv = unhex("cafebabefacedbaddecaf888");
    std::copy(raw.begin(), raw.end(), key.key.begin());
    std::copy(iv.begin(), iv.end(), key.iv.begin());
    const auto header = unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    const auto plain = unhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    std::vector<std::byte> sealed(plain.size());
    std::vector<std::byte> tag(12);
    PacketCipher sealer{Protection::encrypt, key, PacketCipher::Direction::seal};
    sealer.seal(0, header, plain, sealed, tag);
    CHECK(hex(sealed) ==
          "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
          "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091");
    CHECK(hex(tag) == "5bc94fbc3221a5db94fae95a");
    PacketCipher opener{Protection::encrypt, key, PacketCipher::Direction::open};
    std::vector<std::byte> opened(plain.size());
    CHECK(opener.open(0, header, sealed, opened, tag));
    CHECK(opened == plain);
}

// RFC 3720, B.4: the CRC of "123456789".
TEST_CASE("none is CRC32C over header and body") {
    PacketCipher cipher{Protection::none, {}, PacketCipher::Direction::seal};
    const auto header = unhex("3132333435");
    auto body = unhex("36373839");
    std::vector<std::byte> tag(4);
    cipher.seal(9, header, body, body, tag);
    CHECK(hex(tag) == "e3069283");
    CHECK(cipher.open(9, header, body, body, tag));
    tag[0] ^= std::byte{1};
    CHECK_FALSE(cipher.open(9, header, body, body, tag));
}

TEST_CASE("a tag of another length opens nothing") {
    for (const Protection each : {Protection::none, Protection::auth, Protection::encrypt}) {
        PacketCipher cipher{each, {}, PacketCipher::Direction::open};
        std::vector<std::byte> body(10);
        const std::vector<std::byte> tag(tag_bytes(each) + 1);
        CHECK_FALSE(cipher.open(1, {}, body, body, tag));
        CHECK_FALSE(cipher.open(1, {}, body, body, {}));
    }
}
