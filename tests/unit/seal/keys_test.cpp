#include "transport/seal/keys.h"

#include "tests/unit/hex.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::seal;
using stage::test::hex;

namespace {

template <std::size_t Size>
std::array<std::byte, Size> rising(unsigned first) {
    std::array<std::byte, Size> bytes{};
    for (std::size_t i = 0; i < Size; ++i) {
        bytes[i] = static_cast<std::byte>(first + i);
    }
    return bytes;
}

const GroupKey kGroup = rising<32>(0);
const SessionId kSession = rising<16>(0x40);
const Incarnation kIncarnation = rising<16>(0x80);

PacketKey key_of(std::uint16_t rank, std::uint32_t epoch) {
    return derive(
        kGroup, kSession, {.rank = Rank{rank}, .incarnation = kIncarnation, .epoch = epoch});
}

}  // namespace

// HKDF-SHA256 as RFC 5869 has it, computed apart by a program that passes the RFC's test case
// 1: salt = session, info = "stagecast 1 packets" | rank | incarnation | epoch.
TEST_CASE("keys are derived as docs/protocol 2.2 says") {
    CHECK(hex(key_of(7, 0).key) == "5172c9ba394416142996afedce203c0b");
    CHECK(hex(key_of(7, 0).iv) == "93e2cccfc56cb6c0002dad42");
    CHECK(hex(key_of(7, 1).key) == "27d18e5df4caf63caee2d2b88f32144f");
    CHECK(hex(key_of(7, 1).iv) == "e22e17eee0fb55c858f6885d");
    CHECK(hex(key_of(8, 0).key) == "3e0ae413d2a51518b26670e4cef66c0d");
    CHECK(hex(key_of(65534, 0xffffffff).key) == "01a7d724fa07d9ab716a6835631c0d3e");
    CHECK(hex(key_of(65534, 0xffffffff).iv) == "ebc87bbc6f3d7ebdb0cb8b49");
}

TEST_CASE("whatever differs, the key differs") {
    std::set<std::string> seen;
    const auto add = [&](const GroupKey& group,
                         const SessionId& session,
                         std::uint16_t rank,
                         const Incarnation& incarnation,
                         std::uint32_t epoch) {
        const PacketKey key = derive(
            group, session, {.rank = Rank{rank}, .incarnation = incarnation, .epoch = epoch});
        seen.insert(hex(key.key) + hex(key.iv));
    };
    add(kGroup, kSession, 1, kIncarnation, 0);
    add(rising<32>(1), kSession, 1, kIncarnation, 0);
    add(kGroup, rising<16>(1), 1, kIncarnation, 0);
    add(kGroup, kSession, 2, kIncarnation, 0);
    add(kGroup, kSession, 1, rising<16>(1), 0);
    add(kGroup, kSession, 1, kIncarnation, 1);
    CHECK(seen.size() == 6);
}

// HKDF-SHA256 of the session, with "stagecast 1 relay" as salt and info, computed apart.
TEST_CASE("the session of a relay follows from that of the multicast") {
    CHECK(hex(relay_session(kSession)) == "9487162aa0b477a3be046a5289f5e83f");
    CHECK(demux(relay_session(kSession)) != demux(kSession));
}

TEST_CASE("a nonce is the iv with the packet number in its last eight bytes") {
    PacketKey key{};
    key.iv = rising<12>(0x10);
    CHECK(hex(nonce(key, 0)) == "101112131415161718191a1b");
    CHECK(hex(nonce(key, 0x0102030405060708)) == "10111213151715131d1f1d13");
}

TEST_CASE("an epoch is 2^26 packets") {
    CHECK(epoch_of(0) == 0);
    CHECK(epoch_of((1U << 26U) - 1) == 0);
    CHECK(epoch_of(1U << 26U) == 1);
}

TEST_CASE("headers have the first bytes of the session's id") {
    CHECK(demux(kSession) == 0x40414243);
}
