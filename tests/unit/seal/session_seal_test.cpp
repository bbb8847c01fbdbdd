#include "transport/seal/session_seal.h"

#include "tests/unit/hex.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::seal;
using stage::test::hex;
using stage::test::unhex;
using wire::PacketType;

namespace {

SessionKeys keys_of(std::uint16_t own, Protection protection) {
    SessionKeys keys;
    keys.protection = protection;
    keys.own = Rank{own};
    for (std::size_t i = 0; i < keys.group.size(); ++i) {
        keys.group[i] = static_cast<std::byte>(i);
    }
    for (std::size_t i = 0; i < keys.session.size(); ++i) {
        keys.session[i] = static_cast<std::byte>(0x40 + i);
    }
    keys.members.resize(9);
    for (std::size_t rank = 0; rank < keys.members.size(); ++rank) {
        for (std::size_t i = 0; i < 16; ++i) {
            keys.members[rank][i] = static_cast<std::byte>(rank == 7 ? 0x80 + i : rank);
        }
    }
    return keys;
}

wire::Header header_of(PacketType type, std::uint16_t rank, std::uint64_t number) {
    wire::Header header;
    header.type = type;
    header.session = 0x40414243;
    header.rank = Rank{rank};
    header.packet_number = number;
    if (type == PacketType::data) {
        header.block = BlockIndex{2};
        header.chunk = ChunkIndex{3};
    }
    return header;
}

std::vector<std::byte> packet_of(SessionSeal& seal, const wire::Header& header, Bytes body) {
    std::vector<std::byte> packet(wire::kHeaderBytes + body.size() + seal.tag_bytes());
    const MutableBytes all{packet};
    const MutableBytes room = all.subspan(wire::kHeaderBytes, body.size());
    wire::write_header(header, all.first(wire::kHeaderBytes));
    std::copy(body.begin(), body.end(), room.begin());
    seal.seal(header.packet_number,
              all.first(wire::kHeaderBytes),
              body,
              room,
              all.last(seal.tag_bytes()));
    return packet;
}

const std::vector<std::byte> kReady = unhex("1122334455667788000000fa");

}  // namespace

// Golden packets, made by another implementation of AES-GCM and HKDF.
TEST_CASE("a sealed packet has its bytes under each protection") {
    const bool is_prepared = GENERATE(false, true);
    const std::pair<Protection, const char*> golden[] = {
        {Protection::encrypt,
         "14004041424300070000000000002345679e7a43bf998a69832a15e7bfd1a6d75c875077f232301a"},
        {Protection::auth,
         "140040414243000700000000000023451122334455667788000000faf77397e40c9de1dd3af1ff5e"},
        {Protection::none, "140040414243000700000000000023451122334455667788000000fa9e22abbc"},
    };
    for (const auto& [protection, text] : golden) {
        CAPTURE(word_of(protection));
        SessionSeal sender{keys_of(7, protection)};
        SessionSeal receiver{keys_of(1, protection)};
        if (is_prepared) {  // The keys are the same.
            sender.prepare(Rank{7});
            receiver.prepare(Rank{7});
        }
        auto packet = packet_of(sender, header_of(PacketType::ready, 7, 0x2345), kReady);
        CHECK(hex(packet) == text);
        const auto opened = receiver.open(packet);
        REQUIRE(opened);
        CHECK(hex(opened->body) == hex(kReady));
        CHECK(opened->header.packet_number == 0x2345);
        CHECK(receiver.counters().refused() == 0);
    }
}

TEST_CASE("DATA is decrypted where it is wanted, and nothing else is") {
    const auto protection = GENERATE(Protection::none, Protection::auth, Protection::encrypt);
    CAPTURE(word_of(protection));
    SessionSeal sender{keys_of(7, protection)};
    SessionSeal receiver{keys_of(1, protection)};
    const auto body = unhex("68656c6c6f2c206e6f646573");
    std::vector<std::byte> place(body.size());
    std::size_t asked = 0;
    const PayloadRoom room = [&](const wire::Header& header, std::size_t bytes) {
        ++asked;
        CHECK(header.block == BlockIndex{2});
        CHECK(bytes == place.size());
        return MutableBytes{place};
    };
    const bool is_moved = protection == Protection::encrypt;
    auto data = packet_of(sender, header_of(PacketType::data, 7, 0x2345), body);
    const auto opened = receiver.open(data, room);
    REQUIRE(opened);
    CHECK(hex(opened->body) == hex(body));
    CHECK((opened->body.data() == place.data()) == is_moved);
    CHECK(asked == (is_moved ? 1U : 0U));

    auto forged = packet_of(sender, header_of(PacketType::data, 7, 0x2346), body);
    forged.back() ^= std::byte{1};
    CHECK_FALSE(receiver.open(forged, room));
    auto control = packet_of(sender, header_of(PacketType::ready, 7, 0x2347), kReady);
    const auto said = receiver.open(control, room);
    REQUIRE(said);
    CHECK(hex(said->body) == hex(kReady));
    CHECK(asked == (is_moved ? 2U : 0U));
}

TEST_CASE("a DATA packet has its bytes, and 28 beside its payload") {
    SessionSeal sender{keys_of(7, Protection::encrypt)};
    const auto body = unhex("68656c6c6f2c206e6f646573");
    const auto packet = packet_of(sender, header_of(PacketType::data, 7, 0x2346), body);
    CHECK(hex(packet) ==
          "11004041424300072346000000020003a4e89953a8417f5db7010af4063b4a986d9650a67db9aa43");
    CHECK(packet.size() == body.size() + 28);
}

TEST_CASE("a flipped bit anywhere is noticed") {
    for (const Protection protection :
         {Protection::encrypt, Protection::auth, Protection::none}) {
        for (const PacketType type : {PacketType::ready, PacketType::data}) {
            SessionSeal sender{keys_of(7, protection)};
            SessionSeal receiver{keys_of(1, protection)};
            const auto packet = packet_of(sender, header_of(type, 7, 5), kReady);
            for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
                auto bad = packet;
                bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
                CAPTURE(word_of(protection), static_cast<int>(type), bit);
                CHECK_FALSE(receiver.open(bad));
            }
            auto good = packet;
            CHECK(receiver.open(good));
            CHECK(receiver.counters().refused() == packet.size() * 8);
        }
    }
}

TEST_CASE("a packet of another version than the group's is malformed") {
    const auto protection = GENERATE(Protection::none, Protection::encrypt);
    SessionSeal sender{keys_of(7, protection)};
    SessionKeys keys = keys_of(1, protection);
    keys.version = wire::kVersionHighest + 1;
    SessionSeal receiver{keys};
    auto packet = packet_of(sender, header_of(PacketType::ready, 7, 5), kReady);
    CHECK_FALSE(receiver.open(packet));
    CHECK(receiver.counters().malformed == 1);
}

// Each takes a kilobyte, and there may be 65,535 of them.
TEST_CASE("of many senders only those heard lately have expanded keys, and all are opened") {
    constexpr std::uint16_t kMembers = 2500;
    const auto protection = GENERATE(Protection::auth, Protection::encrypt);
    SessionKeys keys = keys_of(0, protection);
    keys.members.resize(kMembers, keys.members[1]);
    SessionSeal receiver{keys};
    receiver.prepare(Rank{1});
    std::vector<std::byte> first;
    for (std::uint64_t number = 1; number <= 3; ++number) {
        for (std::uint16_t rank = 1; rank < kMembers; ++rank) {
            SessionKeys own = keys;
            own.own = Rank{rank};
            SessionSeal sender{own};
            auto packet = packet_of(sender, header_of(PacketType::ready, rank, number), kReady);
            if (rank == 2 && number == 1) {
                first = packet;
            }
            REQUIRE(receiver.open(packet));
        }
        CHECK(receiver.expanded() <= SessionSeal::kExpandedMax);
    }
    CHECK_FALSE(receiver.open(first));  // A replay is noticed, however long ago it was heard.
    CHECK(receiver.counters().replayed == 1);
    CHECK(receiver.counters().refused() == 1);
}

TEST_CASE("every truncation is refused") {
    SessionSeal sender{keys_of(7, Protection::encrypt)};
    SessionSeal receiver{keys_of(1, Protection::encrypt)};
    const auto packet = packet_of(sender, header_of(PacketType::ready, 7, 5), kReady);
    for (std::size_t size = 0; size < packet.size(); ++size) {
        auto part = packet;
        part.resize(size);
        CHECK_FALSE(receiver.open(part));
    }
}

TEST_CASE("a control packet is opened once, a DATA packet as often as it comes") {
    SessionSeal sender{keys_of(7, Protection::encrypt)};
    SessionSeal receiver{keys_of(1, Protection::encrypt)};
    const auto control = packet_of(sender, header_of(PacketType::ready, 7, 5), kReady);
    const auto data = packet_of(sender, header_of(PacketType::data, 7, 6), kReady);
    for (int i = 0; i < 3; ++i) {
        auto again = control;
        CHECK(receiver.open(again).has_value() == (i == 0));
        again = data;
        CHECK(receiver.open(again));
    }
    CHECK(receiver.counters().replayed == 2);
}

TEST_CASE(
    "what waits in the group's socket may be overtaken by far more numbers at the source's") {
    const auto protection = GENERATE(Protection::none, Protection::encrypt);
    SessionSeal sender{keys_of(7, protection)};
    SessionSeal receiver{keys_of(1, protection)};
    const std::uint64_t late = GENERATE(5U, 4465U, 4464U);
    const auto is_opened = [&](std::uint64_t number) {
        auto packet = packet_of(sender, header_of(PacketType::ready, 7, number), kReady);
        return receiver.open(packet).has_value();
    };
    SECTION("the source's") {
        receiver.prepare(Rank{7});
        CHECK(is_opened(70'000));
        CHECK(is_opened(late) == (late == 4465));
        CHECK_FALSE(is_opened(late));
    }
    SECTION("another's") {
        CHECK(is_opened(70'000));
        CHECK_FALSE(is_opened(late));
    }
}

TEST_CASE("flows that keep an order each are expanded by themselves, and replays found") {
    const auto protection = GENERATE(Protection::none, Protection::encrypt);
    SessionSeal sender{keys_of(7, protection)};
    SessionKeys keys = keys_of(1, protection);
    keys.flows_apart = 2;
    SessionSeal receiver{keys};
    const auto number_of = [&](PacketType type, std::uint8_t flow, std::uint64_t number) {
        wire::Header header = header_of(type, 7, number);
        header.flow = Flow{flow};
        auto packet = packet_of(sender, header, kReady);
        const auto opened = receiver.open(packet);
        return opened ? opened->header.packet_number : 0;
    };
    CHECK(number_of(PacketType::ready, 0, 10) == 10);
    CHECK(number_of(PacketType::ready, 1, 200'000) == 200'000);
    CHECK(number_of(PacketType::data, 1, 200'001) == 200'001);
    CHECK(number_of(PacketType::data, 0, 11) == 11);
    CHECK(number_of(PacketType::ready, 0, 12) == 12);
    CHECK(number_of(PacketType::ready, 1, 200'000) == 0);
    // One that is not kept apart counts as the first.
    CHECK(number_of(PacketType::ready, 5, 12) == 0);
    CHECK(number_of(PacketType::ready, 5, 13) == 13);
}

TEST_CASE("DATA numbers expand across their wraps and across epochs") {
    SessionSeal sender{keys_of(7, Protection::encrypt)};
    SessionSeal receiver{keys_of(1, Protection::encrypt)};
    std::uint64_t number = 1;
    for (const std::uint64_t step : {30'000U, 30'000U, 5'536U, 1U, 32'000U, 32'000U}) {
        number += step;
        auto packet = packet_of(sender, header_of(PacketType::data, 7, number), kReady);
        const auto opened = receiver.open(packet);
        REQUIRE(opened);
        CHECK(opened->header.packet_number == number);
    }
    // A control packet carries its whole number: from there on DATA is understood again.
    const std::uint64_t epoch = std::uint64_t{1} << kEpochShift;
    auto lost = packet_of(sender, header_of(PacketType::data, 7, epoch - 2), kReady);
    CHECK_FALSE(receiver.open(lost));
    auto control = packet_of(sender, header_of(PacketType::ready, 7, epoch - 1), kReady);
    CHECK(receiver.open(control));
    for (std::uint64_t at : {epoch, epoch + 1, epoch - 2}) {
        auto packet = packet_of(sender, header_of(PacketType::data, 7, at), kReady);
        const auto opened = receiver.open(packet);
        REQUIRE(opened);
        CHECK(opened->header.packet_number == at);
    }
}

TEST_CASE("a packet of an unauthorised peer is counted, and changes nothing") {
    SessionSeal receiver{keys_of(1, Protection::encrypt)};

    SessionKeys other_key = keys_of(7, Protection::encrypt);
    other_key.group[0] = std::byte{0xff};
    SessionSeal outsider{other_key};
    auto forged = packet_of(outsider, header_of(PacketType::release, 7, 1), kReady);
    CHECK_FALSE(receiver.open(forged));
    CHECK(receiver.counters().forged == 1);

    SessionKeys later_life = keys_of(7, Protection::encrypt);
    later_life.members[7][0] = std::byte{0xee};
    SessionSeal restarted{later_life};
    auto late = packet_of(restarted, header_of(PacketType::ready, 7, 1), kReady);
    CHECK_FALSE(receiver.open(late));
    CHECK(receiver.counters().forged == 2);

    SessionSeal member{keys_of(7, Protection::encrypt)};
    auto header = header_of(PacketType::ready, 7, 2);
    header.session = 1;
    auto elsewhere = packet_of(member, header, kReady);
    CHECK_FALSE(receiver.open(elsewhere));
    CHECK(receiver.counters().other_session == 1);

    auto unknown = packet_of(member, header_of(PacketType::ready, 9, 3), kReady);
    CHECK_FALSE(receiver.open(unknown));
    auto reflected = packet_of(member, header_of(PacketType::ready, 1, 3), kReady);
    CHECK_FALSE(receiver.open(reflected));
    CHECK(receiver.counters().unknown_rank == 2);

    auto impostor = packet_of(member, header_of(PacketType::ready, 6, 3), kReady);
    CHECK_FALSE(receiver.open(impostor));
    CHECK(receiver.counters().forged == 3);

    auto noise = unhex("00112233445566778899aabbccddeeff00112233445566778899aabb");
    CHECK_FALSE(receiver.open(noise));
    CHECK(receiver.counters().malformed == 1);

    auto right = packet_of(member, header_of(PacketType::ready, 7, 4), kReady);
    CHECK(receiver.open(right));
}
