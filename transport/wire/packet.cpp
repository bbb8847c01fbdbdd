#include "transport/wire/packet.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"

namespace stage::wire {
namespace {

constexpr std::uint8_t kLowNibble = 0x0f;

void put(MutableBytes out, std::size_t at, std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        out[at + i] = static_cast<std::byte>((value >> (8U * (count - 1U - i))) & 0xffU);
    }
}

bool is_known(std::uint8_t type) {
    return type >= static_cast<std::uint8_t>(PacketType::data) &&
           type <= static_cast<std::uint8_t>(PacketType::extended);
}

}  // namespace

void write_header(const Header& header, MutableBytes out) {
    invariant(out.size() >= kHeaderBytes, "a header has its 16 bytes");
    invariant(header.flow.value() <= kLowNibble && header.flags <= kLowNibble,
              "flow and flags have four bits each");
    const auto type = static_cast<unsigned>(header.type);
    put(out, 0, (unsigned{header.version} << 4U) | type, 1);
    put(out, 1, (unsigned{header.flags} << 4U) | header.flow.value(), 1);
    put(out, 2, header.session, 4);
    put(out, 6, header.rank.value(), 2);
    if (header.is_data()) {
        put(out, 8, header.packet_number & 0xffffU, 2);
        put(out, 10, header.block.value(), 4);
        put(out, 14, header.chunk.value(), 2);
    } else {
        put(out, 8, header.packet_number, 8);
    }
}

std::optional<Header> read_header(Bytes packet, HeaderFault& fault) {
    if (packet.size() < kHeaderBytes) {
        fault = HeaderFault::too_short;
        return std::nullopt;
    }
    ByteReader reader{packet.first(kHeaderBytes)};
    const std::uint8_t first = reader.u8();
    const std::uint8_t second = reader.u8();
    Header header;
    header.version = static_cast<std::uint8_t>(first >> 4U);
    if (header.version < kVersionLowest || header.version > kVersionHighest) {
        fault = HeaderFault::version;
        return std::nullopt;
    }
    const auto type = static_cast<std::uint8_t>(first & kLowNibble);
    header.flags = static_cast<std::uint8_t>(second >> 4U);
    if (!is_known(type)) {
        const bool critical = (header.flags & kFlagCritical) != 0;
        fault = critical ? HeaderFault::critical : HeaderFault::type;
        return std::nullopt;
    }
    if ((header.flags & kFlagCritical) != 0) {  // none is defined yet
        fault = HeaderFault::critical;
        return std::nullopt;
    }
    header.type = static_cast<PacketType>(type);
    header.flow = Flow{static_cast<std::uint8_t>(second & kLowNibble)};
    header.session = reader.u32();
    header.rank = Rank{reader.u16()};
    if (header.is_data()) {
        header.packet_number = reader.u16();
        header.block = BlockIndex{reader.u32()};
        header.chunk = ChunkIndex{reader.u16()};
    } else {
        header.packet_number = reader.u64();
    }
    return header;
}

std::uint64_t expand(std::uint64_t largest, std::uint16_t truncated) {
    constexpr std::uint64_t kWindow = 1U << 16U;
    constexpr std::uint64_t kHalf = kWindow / 2;
    const std::uint64_t expected = largest + 1;
    const std::uint64_t candidate = (expected & ~(kWindow - 1)) | truncated;
    // Distances, not sums: at either end of the numbers a sum would begin anew.
    if (candidate < expected && expected - candidate >= kHalf) {
        return candidate <= ~kWindow ? candidate + kWindow : candidate;
    }
    if (candidate > expected && candidate - expected > kHalf && candidate >= kWindow) {
        return candidate - kWindow;
    }
    return candidate;
}

}  // namespace stage::wire
