// Tests what forged packet numbers cost, and that they cost a sender nothing.
#include "transport/seal/sender_opening.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;
using namespace stage::seal;

namespace {

constexpr std::uint64_t kEpochPackets = 1ULL << 26U;

PacketKey key_of(std::uint32_t epoch) {
    PacketKey key{};
    key.key[0] = static_cast<std::byte>(epoch);
    return key;
}

/// A sender, as another member hears it.
class Heard {
  public:
    bool opens(std::uint64_t number, bool is_forged) {
        wire::Header header;
        header.type = wire::PacketType::report;
        header.packet_number = number;
        std::vector<std::byte> packet(wire::kHeaderBytes + tag_bytes(Protection::auth));
        const MutableBytes all{packet};
        PacketCipher cipher{
            Protection::auth, key_of(epoch_of(number)), PacketCipher::Direction::seal};
        cipher.seal(number,
                    all.first(wire::kHeaderBytes),
                    {},
                    {},
                    all.last(tag_bytes(Protection::auth)));
        packet.back() ^= is_forged ? std::byte{1} : std::byte{0};
        return opening_.open(Protection::auth, header, packet, {}, [this](std::uint32_t epoch) {
            ++derived;
            return key_of(epoch);
        });
    }

    unsigned derived = 0;

  private:
    SenderOpening opening_;
};

}  // namespace

TEST_CASE("a flood of forged numbers makes few keys, and the sender is heard all the same") {
    Heard sender;
    REQUIRE(sender.opens(1, false));
    REQUIRE(sender.derived == 1);
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        REQUIRE_FALSE(sender.opens((i % 60 + 1) * kEpochPackets, true));
        if (i % 1000 == 0) {
            CHECK(sender.opens(2, false));
        }
    }
    CHECK(sender.derived < 100);
    SECTION("its next epoch, too, after some packets") {
        bool is_heard = false;
        for (int i = 0; i < 256 && !is_heard; ++i) {
            is_heard = sender.opens(kEpochPackets, false);
        }
        CHECK(is_heard);
        const unsigned before = sender.derived;
        CHECK(sender.opens(kEpochPackets + 1, false));
        CHECK(sender.derived == before);
    }
}

TEST_CASE("forged packets before the first one do not shut a sender out") {
    Heard sender;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        REQUIRE_FALSE(sender.opens((i % 60) * kEpochPackets + 1, true));
    }
    CHECK(sender.opens(1, false));
    CHECK(sender.derived < 50);
}

TEST_CASE("the last packets of an epoch may come after the first of the next") {
    Heard sender;
    REQUIRE(sender.opens(kEpochPackets, false));
    for (std::uint64_t i = 1; i < 100; ++i) {
        CHECK(sender.opens(kEpochPackets - i, false));
    }
}
