// Fuzzes packet headers: each has one meaning, and a truncated number is the nearest.
#include "tests/fuzz/fuzz.h"
#include "transport/wire/packet.h"

#include <array>

namespace stage {
namespace {

using wire::Header;

/// `truncated` is what DATA carries; no other number with these 16 bits is nearer.
void check_expand(std::uint64_t largest, std::uint16_t truncated) {
    const std::uint64_t number = wire::expand(largest, truncated);
    invariant((number & 0xffffU) == truncated, "an expanded number keeps its low bits");
    constexpr std::uint64_t kWindow = 0x10000;
    if (largest < kWindow || largest > ~std::uint64_t{0} - kWindow) {
        return;  // One of the two neighbours is no number.
    }
    const std::uint64_t expected = largest + 1;
    const std::uint64_t apart = number > expected ? number - expected : expected - number;
    invariant(apart <= kWindow / 2, "an expanded number is the nearest");
}

}  // namespace

bool fuzz_one(Bytes input) {
    wire::HeaderFault fault{};
    const auto header = wire::read_header(input, fault);
    if (!header) {
        return false;
    }
    std::array<std::byte, wire::kHeaderBytes> again{};
    wire::write_header(*header, again);
    invariant(same(again, input.first(wire::kHeaderBytes)), "a header has one encoding");
    ByteReader rest{input.subspan(wire::kHeaderBytes)};
    while (rest.left() >= 10) {
        const std::uint64_t largest = rest.u64();
        check_expand(largest, rest.u16());
    }
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    Header data{.flow = Flow{3},
                .session = 0xfeedbeefU,
                .rank = Rank{0},
                .packet_number = 0x1234,
                .block = BlockIndex{77},
                .chunk = ChunkIndex{9}};
    data.flags = wire::kFlagRepeat;
    const Header report{.type = wire::PacketType::report,
                        .flow = {},
                        .session = 0xfeedbeefU,
                        .rank = Rank{65534},
                        .packet_number = 0x123456789abcU,
                        .block = {},
                        .chunk = {}};
    std::vector<FuzzSeed> seeds;
    for (const auto& [name, header] : {std::pair{"data", data}, std::pair{"report", report}}) {
        std::array<std::byte, wire::kHeaderBytes> bytes{};
        wire::write_header(header, bytes);
        ByteWriter out;
        out.raw(bytes).u64(0x1ffffU).u16(0x0003).u64(0x12340U).u16(0xfff0).u64(5).u16(0xffff);
        seeds.push_back({name, out.take()});
    }
    return seeds;
}

}  // namespace stage
