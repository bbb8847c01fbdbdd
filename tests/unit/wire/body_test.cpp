#include "transport/wire/body.h"

#include "tests/unit/hex.h"
#include "transport/base/prng.h"
#include "transport/wire/packet.h"
#include "transport/wire/tlv.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;
using namespace stage::wire;
using stage::test::hex;
using stage::test::unhex;

// Golden, docs/protocol 3.3: made from its tables by another program. They stay as they are.
namespace {

constexpr const char* kDescribe =
    "0000000702001000000010000000000102030405060708090a0b0c0d0e0f"
    "0000100000000000010f0e0d0c0b0a09080706050403020100";
constexpr const char* kOffer =
    "000000030000000000200001000005a4112233445566778808"
    "01"
    "00030009"
    "00";
constexpr const char* kReady = "1122334455667788000000fa0000004d";
constexpr const char* kRequest = "0000cafe020000000100020003ffffffff00000000";
constexpr const char* kReport =
    "00000001000000021122334455667788000000030000000400000005000000060000000"
    "7fe0000000b0000000c0000000d0000000e01000000080009000a";
constexpr const char* kEcn = "01000c000000100000001100000012";
constexpr const char* kDone = "0002000100010005ffff";
constexpr const char* kEnding = "010201000000086e6f207370616365";
constexpr const char* kEnd = "00000040";
constexpr const char* kPulse = "1122334455667788000100020000004000070000c35000090000cafe";
constexpr const char* kLeft = "0000cafe02";

Leaf rising() {
    Leaf leaf{};
    for (std::size_t i = 0; i < leaf.size(); ++i) {
        leaf[i] = static_cast<std::byte>(i);
    }
    return leaf;
}

Descriptor raw_block(std::uint32_t length) {
    return {
        .length = length, .wire_length = length, .encoding = Encoding::raw, .leaf = rising()};
}

/// Every shorter body is refused. A longer one is taken if what follows is a TLV that may be
/// skipped, or padding; and what is known of it is taken.
template <class Read>
void takes_known_fields_only(const char* golden, Read read) {
    const auto bytes = unhex(golden);
    REQUIRE(read(bytes));
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        CAPTURE(cut);
        CHECK_FALSE(read(Bytes{bytes}.first(cut)));
    }
    const std::string text{golden};
    for (const char* tail : {"00", "0012", "7d000400010203", "7d00007d000105", "7d000000ff"}) {
        CAPTURE(tail);
        const auto longer = read(unhex(text + tail));
        REQUIRE(longer);
        CHECK(hex(write(*longer)) == text);
    }
    // Critical; cut in its head; cut in its value; cut behind a whole one.
    for (const char* tail : {"fd0000", "7d", "7d0004000102", "7d00007d0001"}) {
        CAPTURE(tail);
        CHECK_FALSE(read(unhex(text + tail)));
    }
}

}  // namespace

TEST_CASE("DESCRIBE has its bytes") {
    Leaf falling = rising();
    std::reverse(falling.begin(), falling.end());
    const Describe body{
        .first = BlockIndex{7},
        .descriptors = {
            raw_block(1U << 20U),
            {.length = 4096, .wire_length = 0, .encoding = Encoding::hole, .leaf = falling}}};
    CHECK(hex(write(body)) == kDescribe);
    const auto read = read_describe(unhex(kDescribe));
    REQUIRE(read);
    CHECK(read->first == body.first);
    CHECK(read->descriptors == body.descriptors);
    takes_known_fields_only(kDescribe, read_describe);
}

TEST_CASE("OFFER has its bytes") {
    const Offer body{.blocks = 3,
                     .object_bytes = 2'097'153,
                     .chunk_bytes = 1444,
                     .source_time_us = 0x1122334455667788,
                     .parities = 8,
                     .awaited = {{.first = Rank{3}, .last = Rank{9}}},
                     .descriptors = {}};
    CHECK(hex(write(body)) == kOffer);
    const auto read = read_offer(unhex(kOffer));
    REQUIRE(read);
    CHECK(write(*read) == write(body));
    for (std::size_t cut = 0; cut < write(body).size(); ++cut) {
        CHECK_FALSE(read_offer(Bytes{write(body)}.first(cut)));
    }
    auto padded = write(body);
    padded.resize(body.chunk_bytes);
    const auto as_long_as_data = read_offer(padded);
    REQUIRE(as_long_as_data);
    CHECK(write(*as_long_as_data) == write(body));
}

TEST_CASE("an OFFER that the object goes with describes its blocks") {
    const Offer body{.blocks = 2,
                     .object_bytes = 4246,
                     .chunk_bytes = 512,
                     .source_time_us = 1,
                     .parities = 8,
                     .awaited = std::vector<RankRun>(kMaxAwaitedRuns),
                     .descriptors = {raw_block(150), raw_block(4096)}};
    const auto bytes = write(body);
    CHECK(bytes.size() == 25 + 1 + kMaxAwaitedRuns * 4 + 1 + 2 * kDescriptorBytes);
    CHECK(25 + 1 + kMaxAwaitedRuns * 4 + 1 + kMaxOfferedDescriptors * kDescriptorBytes <=
          kMinChunkBytes - (kTlvHeadBytes + 3 + 2 * kMaxRepresentatives));
    const auto read = read_offer(bytes);
    REQUIRE(read);
    CHECK(read->descriptors == body.descriptors);
    CHECK(read->awaited == body.awaited);
}

TEST_CASE("an OFFER may announce chunks of up to a block, and a critical TLV refuses it") {
    auto bytes = unhex(kOffer);
    const auto large = unhex("00100000");
    std::copy(large.begin(), large.end(), bytes.begin() + 12);
    REQUIRE(read_offer(bytes));
    CHECK(read_offer(bytes)->chunk_bytes == kBlockBytes);
    CHECK(read_offer(unhex(std::string{kOffer} + "7d00010100")));
    CHECK_FALSE(read_offer(unhex(std::string{kOffer} + "fd00010100")));
}

TEST_CASE("OFFER and DESCRIBE may name the representatives") {
    constexpr const char* kTlv = "03000701020200030009";
    const Representatives named{.version = 0x102, .ranks = {Rank{3}, Rank{9}}};
    Offer offer = *read_offer(unhex(kOffer));
    offer.representatives = named;
    CHECK(hex(write(offer)) == std::string{kOffer} + kTlv);
    auto padded = write(offer);
    padded.resize(1444);
    CHECK(read_offer(padded)->representatives == named);
    Describe describe = *read_describe(unhex(kDescribe));
    describe.representatives = named;
    CHECK(hex(write(describe)) == std::string{kDescribe} + kTlv);
    CHECK(read_describe(write(describe))->representatives == named);
    auto appended = unhex(kDescribe);
    append(appended, named);
    CHECK(hex(appended) == std::string{kDescribe} + kTlv);
    const std::string of_describe{kDescribe};
    CHECK_FALSE(read_describe(unhex(of_describe + "0300050000010003")));  // version 0
    CHECK_FALSE(read_describe(unhex(of_describe + "0300050102020003")));  // one of two
    CHECK_FALSE(read_describe(unhex(of_describe + "030003010221")));      // too many
}

TEST_CASE("READY has its bytes") {
    CHECK(hex(write(Ready{.source_time_us = 0x1122334455667788, .hold_us = 250, .held = 77})) ==
          kReady);
    CHECK(read_ready(unhex(kReady))->hold_us == 250);
    CHECK(read_ready(unhex(kReady))->held == 77);
    takes_known_fields_only(kReady, read_ready);
}

TEST_CASE("REQUEST and LACKING have their bytes") {
    const Request body{.id = 0xcafe,
                       .runs = {{.block = BlockIndex{1}, .first = 2, .count = 3},
                                {.block = BlockIndex{0xffffffff}, .first = 0, .count = 0}}};
    CHECK(hex(write(body)) == kRequest);
    const auto read = read_request(unhex(kRequest));
    REQUIRE(read);
    CHECK(read->id == body.id);
    CHECK(read->runs == body.runs);
    takes_known_fields_only(kRequest, read_request);
}

TEST_CASE("REPORT has its bytes") {
    const Report body{.mark = 0x100000002,
                      .mark_at_ns = 0x1122334455667788,
                      .span = 3,
                      .span_ns = 4,
                      .received = 5,
                      .drain = 6,
                      .overflow = 7,
                      .fill = 0xfe,
                      .hold_us = 11,
                      .heard = 12,
                      .blocks_held = 13,
                      .placed = 14,
                      .missing = {{.block = BlockIndex{8}, .first = 9, .count = 10}}};
    CHECK(hex(write(body)) == kReport);
    const auto read = read_report(unhex(kReport));
    REQUIRE(read);
    CHECK(write(*read) == write(body));
    takes_known_fields_only(kReport, read_report);
}

TEST_CASE("REPORT may carry ECN counts, and a longer TLV is read as far as it is known") {
    auto body = *read_report(unhex(kReport));
    body.ecn = EcnCounts{.ect0 = 0x10, .ect1 = 0x11, .ce = 0x12};
    const std::string text = std::string{kReport} + kEcn;
    CHECK(hex(write(body)) == text);
    REQUIRE(read_report(unhex(text)));
    CHECK(read_report(unhex(text))->ecn == body.ecn);
    CHECK_FALSE(read_report(unhex(kReport))->ecn);
    const auto longer =
        read_report(unhex(std::string{kReport} + "01000d000000100000001100000012ff"));
    REQUIRE(longer);
    CHECK(longer->ecn == body.ecn);
    CHECK_FALSE(read_report(unhex(std::string{kReport} + "01000b0000001000000011000000")));
}

TEST_CASE("DONE and DONE_ACK have their bytes") {
    const Done body{.ranks = {{.first = Rank{1}, .last = Rank{1}},
                              {.first = Rank{5}, .last = Rank{65535}}}};
    CHECK(hex(write(body)) == kDone);
    const auto read = read_done(unhex(kDone));
    REQUIRE(read);
    CHECK(read->ranks == body.ranks);
    takes_known_fields_only(kDone, read_done);
}

TEST_CASE("RELEASE and LEAVE have their bytes") {
    for (std::uint8_t outcome = 0; outcome < 4; ++outcome) {
        std::vector<std::byte> bytes = unhex(kEnding);
        bytes[0] = std::byte{outcome};
        const auto read = read_ending(bytes);
        CHECK(read.has_value() == (outcome <= 2));
    }
    const Ending body{.outcome = 1, .rank = Rank{0x0201}, .why = "no space"};
    CHECK(hex(write(body)) == kEnding);
    const auto read = read_ending(unhex(kEnding));
    REQUIRE(read);
    CHECK(read->why == body.why);
    CHECK(read->rank == body.rank);
    takes_known_fields_only(kEnding, read_ending);
}

TEST_CASE("RELEASE may list dropped members") {
    const Ending body{.outcome = 1,
                      .rank = Rank{0x0201},
                      .why = "no space",
                      .dropped_all = 0x102,
                      .dropped = {{.first = Rank{3}, .last = Rank{4}},
                                  {.first = Rank{9}, .last = Rank{0x107}}}};
    const std::string text = std::string{kEnding} + "02000b0102020003000400090107";
    CHECK(hex(write(body)) == text);
    const auto read = read_ending(unhex(text));
    REQUIRE(read);
    CHECK(read->dropped_all == 0x102);
    CHECK(read->dropped == body.dropped);
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "02000b0000020003000400090107")));
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "02000701020200030004")));
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "02000701020100040003")));
}

TEST_CASE(
    "RELEASE may state that the group goes on by a relay, and which members multicast misses") {
    const Ending body{.outcome = 1,
                      .rank = Rank{0x0201},
                      .why = "no space",
                      .relay_degree = 3,
                      .unreached = {{.first = Rank{3}, .last = Rank{4}},
                                    {.first = Rank{9}, .last = Rank{0x107}}}};
    const std::string text = std::string{kEnding} + "0400010305000800030004" + "00090107";
    CHECK(hex(write(body)) == text);
    const auto read = read_ending(unhex(text));
    REQUIRE(read);
    CHECK(read->relay_degree == 3);
    CHECK(read->unreached == body.unreached);
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "04000100")));        // degree 0
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "040000")));          // no degree
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "050003000300")));    // no run
    CHECK_FALSE(read_ending(unhex(std::string{kEnding} + "05000400040003")));  // goes back
    const Ending longest{.outcome = 2,
                         .rank = {},
                         .why = std::string(kMaxWhyBytes, 'x'),
                         .relay_degree = 255,
                         .unreached = std::vector(kMaxUnreachedRuns, RankRun{})};
    CHECK(write(longest).size() + 72 <= kMaxBodyBytes);
    CHECK(read_ending(write(longest)));
}

TEST_CASE("END has its bytes") {
    CHECK(hex(write(End{.blocks = 64})) == kEnd);
    CHECK(read_end(unhex(kEnd))->blocks == 64);
    takes_known_fields_only(kEnd, read_end);
}

TEST_CASE("PULSE has its bytes") {
    const Pulse body{.sent_at_ns = 0x1122334455667788,
                     .packets = 0x10002,
                     .block = BlockIndex{64},
                     .chunk = 7,
                     .queue_us = 50'000,
                     .away = 9,
                     .echo = 0xcafe};
    CHECK(hex(write(body)) == kPulse);
    const auto read = read_pulse(unhex(kPulse));
    REQUIRE(read);
    CHECK(hex(write(*read)) == kPulse);
    CHECK(read->queue_us == 50'000);
    CHECK(read->away == 9);
    CHECK(read->joined.empty());
    takes_known_fields_only(kPulse, read_pulse);
}

TEST_CASE("PULSE up a relay says who is connected below its sender") {
    const Pulse body{
        .packets = 7,
        .block = {},
        .joined = {{.first = Rank{1}, .last = Rank{4}}, {.first = Rank{6}, .last = Rank{6}}}};
    const std::string bytes = hex(write(body));
    CHECK(bytes ==
          std::string(16, '0') + "00000007" + std::string(32, '0') + "0600080001000400060006");
    const auto read = read_pulse(unhex(bytes));
    REQUIRE(read);
    CHECK(read->joined == body.joined);
    CHECK_FALSE(read_pulse(unhex(hex(write(Pulse{})) + "060000")));  // Without its sender.
    CHECK_FALSE(read_pulse(unhex(hex(write(Pulse{})) + "06000400040001")));
    const Pulse gained{.packets = 7, .block = {}, .joined = {}, .gained = 0x1'0000'0002};
    CHECK(hex(write(gained)) ==
          std::string(16, '0') + "00000007" + std::string(32, '0') + "0700080000000100000002");
    CHECK(read_pulse(write(gained))->gained == gained.gained);
    CHECK_FALSE(read_pulse(unhex(hex(write(Pulse{})) + "07000400000001")));
    // Rank 4 twice.
    CHECK_FALSE(read_pulse(unhex(hex(write(Pulse{})) + "0600080001000400040006")));
}

TEST_CASE("LEFT has its bytes, and no standing that isn't known") {
    CHECK(hex(write(Left{.id = 0xcafe, .standing = Standing::fetching})) == kLeft);
    const auto read = read_left(unhex(kLeft));
    REQUIRE(read);
    CHECK(read->id == 0xcafe);
    CHECK(read->standing == Standing::fetching);
    CHECK_FALSE(read_left(unhex("0000cafe04")));
    CHECK_FALSE(read_left(unhex("0000000001")));
    takes_known_fields_only(kLeft, read_left);
}

TEST_CASE("the fullest bodies fit their packets and are read") {
    const Describe describe{.first = BlockIndex{0},
                            .descriptors = std::vector(kMaxDescriptors, raw_block(9)),
                            .representatives = Representatives{
                                .version = 1, .ranks = std::vector<Rank>(kMaxRepresentatives)}};
    const Request request{.id = 1, .runs = std::vector(kMaxRuns, ChunkRun{})};
    Report report;
    report.missing.resize(kMaxRuns);
    report.ecn = EcnCounts{};
    const Done done{.ranks = std::vector(kMaxRankRuns, RankRun{})};
    const Ending ending{.outcome = 1,
                        .rank = {},
                        .why = std::string(kMaxWhyBytes, 'x'),
                        .dropped_all = 0xffff,
                        .dropped = std::vector(kMaxDroppedRuns, RankRun{})};
    constexpr std::size_t kRoomForTlvs = 72;
    for (const auto& bytes :
         {write(describe), write(request), write(report), write(done), write(ending)}) {
        CHECK(bytes.size() + kRoomForTlvs <= kMaxBodyBytes);
    }
    CHECK(read_describe(write(describe)));
    CHECK(read_request(write(request)));
    CHECK(read_report(write(report)));
    CHECK(read_done(write(done)));
    CHECK(read_ending(write(ending)));
}

TEST_CASE("what is out of its stated range is refused") {
    const auto patched = [](const char* golden, std::size_t at, std::string_view text) {
        auto bytes = unhex(golden);
        const auto patch = unhex(text);
        std::copy(patch.begin(), patch.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
        return bytes;
    };
    CHECK_FALSE(read_offer(patched(kOffer, 0, "00000000")));          // no block
    CHECK_FALSE(read_offer(patched(kOffer, 4, "0000000000000000")));  // no byte
    CHECK_FALSE(read_offer(patched(kOffer, 4, "0000000000300001")));  // more than blocks hold
    CHECK_FALSE(read_offer(patched(kOffer, 12, "000001ff")));         // chunks too small
    CHECK_FALSE(read_offer(patched(kOffer, 12, "00100001")));         // and too large
    CHECK_FALSE(read_offer(patched(kOffer, 24, "21")));               // too many parities
    CHECK_FALSE(read_offer(patched(kOffer, 25, "31")));               // too many runs
    CHECK_FALSE(read_offer(patched(kOffer, 26, "00090003")));         // a run that goes back
    CHECK_FALSE(read_offer(patched(kOffer, 30, "01")));               // of one block of three
    CHECK_FALSE(read_describe(patched(kDescribe, 4, "00")));          // none
    CHECK_FALSE(read_describe(patched(kDescribe, 0, "ffffffff")));    // beyond the last block
    CHECK_FALSE(read_describe(patched(kDescribe, 5, "00000000")));    // an empty block
    CHECK_FALSE(read_describe(patched(kDescribe, 5, "00100001")));    // too long
    CHECK_FALSE(read_describe(patched(kDescribe, 9, "000fffff")));    // raw, yet shorter
    CHECK_FALSE(read_describe(patched(kDescribe, 13, "03")));         // no such encoding
    CHECK_FALSE(read_describe(patched(kDescribe, 13, "01")));         // a hole with bytes
    CHECK_FALSE(read_request(patched(kRequest, 4, "00")));            // asks for nothing
    CHECK_FALSE(read_request(patched(kRequest, 9, "ffff0002")));      // runs over chunk 65535
    CHECK_FALSE(read_done(patched(kDone, 2, "00020001")));            // a run that goes back
    CHECK_FALSE(read_ending(patched(kEnding, 0, "03")));              // no such outcome
    CHECK_FALSE(read_end(patched(kEnd, 0, "00000000")));              // no block
}

TEST_CASE("what is taken of garbage is written and read again as the same body") {
    Prng prng{11};
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> bytes(prng.below(80));
        for (auto& byte : bytes) {
            byte = static_cast<std::byte>(prng.below(prng.below(2) == 0 ? 256 : 3));
        }
        const auto same = [&](auto read) {
            if (const auto body = read(bytes)) {
                const auto again = write(*body);
                CHECK(again.size() <= bytes.size());
                REQUIRE(read(again));
                CHECK(write(*read(again)) == again);
            }
        };
        same(read_describe);
        same(read_offer);
        same(read_ready);
        same(read_request);
        same(read_report);
        same(read_done);
        same(read_ending);
        same(read_end);
        same(read_pulse);
        same(read_left);
    }
}
