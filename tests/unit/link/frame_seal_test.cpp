// Tests that keys and frames match docs/WIRING.md, and that forged frames fail to open.
#include "stager/link/frame_seal.h"

#include "stager/link/key_exchange.h"
#include "transport/base/codec.h"
#include "transport/base/hex.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace stage;

namespace {

template <class Range>
std::string hex(const Range& bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
        text += kDigits[std::to_integer<unsigned>(byte) & 15U];
    }
    return text;
}

LinkSecret counting_from(unsigned first) {
    LinkSecret secret{};
    for (std::byte& byte : secret) {
        byte = static_cast<std::byte>(first++);
    }
    return secret;
}

LinkKeys sample_keys() {
    return derive_link_keys(counting_from(0),
                            counting_from(32),
                            {},
                            hash_transcript(as_bytes("stagecast transcript")));
}

std::vector<std::byte> sealed(FrameSealer& sealer, std::string_view text) {
    std::vector<std::byte> out;
    sealer.seal(as_bytes(text), out);
    return out;
}

}  // namespace

// The numbers were made by another implementation: HKDF of Python's hmac, AES-GCM written from
// its standard (SP 800-38D) and checked against that standard's vectors.
TEST_CASE("keys and frames are those of the vectors") {
    const LinkKeys keys = sample_keys();
    CHECK(hex(keys.to_acceptor.key) == "5c38e0e7694ecb93e6bf9e1a6da91f95");
    CHECK(hex(keys.to_acceptor.nonce_base) == "994a4a14d5fd8f9cc30cf659");
    CHECK(hex(keys.to_connector.key) == "1d11cb6d12845131f3023410dc3b92f3");
    CHECK(hex(keys.to_connector.nonce_base) == "a1181ba8cb810fcea128414b");

    FrameSealer to_acceptor{keys.to_acceptor};
    CHECK(hex(sealed(to_acceptor, "SETUP")) ==
          "00000015b7a3a2ebb961ba45fb3d4d96f9132b39fab6414189");
    CHECK(hex(sealed(to_acceptor, "stagecast link finished")) ==
          "000000271ee21616d1527c4f1e9886940ab5526f172397a345bf7cd07527f72d3dd3be56de99862b309f"
          "84");
    FrameSealer to_connector{keys.to_connector};
    CHECK(hex(sealed(to_connector, "SETUP")) ==
          "0000001555d94bc29d8c52eedfcf8c1bc4fe9419a476d18ba5");
}

TEST_CASE("every input changes the keys") {
    const std::string key = hex(sample_keys().to_acceptor.key);
    const auto transcript = hash_transcript(as_bytes("stagecast transcript"));
    CHECK(hex(derive_link_keys(counting_from(1), counting_from(32), {}, transcript)
                  .to_acceptor.key) != key);
    CHECK(hex(derive_link_keys(counting_from(0), counting_from(33), {}, transcript)
                  .to_acceptor.key) != key);
    CHECK(hex(derive_link_keys(counting_from(32), counting_from(0), {}, transcript)
                  .to_acceptor.key) != key);
    CHECK(hex(derive_link_keys(
                  counting_from(0), counting_from(32), {}, hash_transcript(as_bytes("another")))
                  .to_acceptor.key) != key);
}

TEST_CASE("keys of an exchange are those of the vectors") {
    const LinkKeys keys = derive_link_keys(counting_from(0),
                                           counting_from(32),
                                           counting_from(64),
                                           hash_transcript(as_bytes("stagecast transcript")));
    CHECK(hex(keys.to_acceptor.key) == "76d62c966e2ef64535b833ea989147e2");
    CHECK(hex(keys.to_connector.nonce_base) == "b779594ffb270af624162eb3");
}

// RFC 7748, 6.1.
TEST_CASE("both ends of an exchange compute what the standard says") {
    const auto read = [](std::string_view text) {
        LinkSecret bytes{};
        REQUIRE(from_hex(text, bytes));
        return bytes;
    };
    const LinkSecret alice =
        read("77076d0a7318a57d3c16c17251b26645c6db0c1d9f1e6e3a5cbe5b9b4e1dd1c2");
    const LinkSecret bob =
        read("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    REQUIRE(can_exchange());
    CHECK(hex(public_key(bob)) ==
          "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    const auto common = common_secret(alice, public_key(bob));
    REQUIRE(common);
    CHECK(common_secret(bob, public_key(alice)) == common);
    CHECK_FALSE(common_secret(alice, LinkSecret{}));
    CHECK_FALSE(common_secret(alice, LinkSecret{std::byte{1}}));
}

TEST_CASE("a sealed frame opens once, in order, at the other end") {
    const LinkKeys keys = sample_keys();
    FrameSealer sealer{keys.to_acceptor};
    FrameOpener opener{keys.to_acceptor};
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{15}, std::size_t{4096}, kFrameMax}) {
        std::vector<std::byte> frame;
        const std::vector<std::byte> plain(size, std::byte{0x5a});
        sealer.seal(plain, frame);
        CHECK(FrameOpener::whole_length(Bytes{frame}.first(4)).ok());
        const auto opened = opener.open(frame);
        REQUIRE(opened);
        CHECK(std::ranges::equal(*opened, plain));
    }
}

TEST_CASE("a frame that was touched, repeated, swapped or turned back does not open") {
    const LinkKeys keys = sample_keys();
    FrameSealer sealer{keys.to_acceptor};
    const auto first = sealed(sealer, "first");
    const auto second = sealed(sealer, "second");
    FrameOpener opener{keys.to_acceptor};
    SECTION("any bit of it") {
        for (std::size_t bit = 0; bit < first.size() * 8; ++bit) {
            auto frame = first;
            frame[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            FrameOpener fresh{keys.to_acceptor};
            CHECK_FALSE(fresh.open(frame));
        }
    }
    SECTION("repeated") {
        REQUIRE(opener.open(first));
        CHECK_FALSE(opener.open(first));
    }
    SECTION("swapped") {
        CHECK_FALSE(opener.open(second));
    }
    SECTION("turned back") {
        FrameOpener back{keys.to_connector};
        CHECK_FALSE(back.open(first));
    }
    SECTION("cut") {
        for (std::size_t length = 0; length < first.size(); ++length) {
            FrameOpener fresh{keys.to_acceptor};
            CHECK_FALSE(fresh.open(Bytes{first}.first(length)));
        }
    }
}

TEST_CASE("a length that no frame has is refused before anything is stored") {
    const auto whole = [](std::uint32_t length) {
        ByteWriter header;
        header.u32(length);
        return FrameOpener::whole_length(header.view());
    };
    CHECK_FALSE(whole(0));
    CHECK_FALSE(whole(16));
    CHECK_FALSE(whole(0xffffffffU));
    CHECK_FALSE(whole(kFrameMax + kFrameTag + 1));
    REQUIRE(whole(17));
    CHECK(*whole(17) == 21);
    CHECK(whole(kFrameMax + kFrameTag).ok());
}
