#include "stager/mpi/bcast/short_packet.h"

#include "transport/base/codec.h"

#include <algorithm>

namespace stage {

std::array<std::byte, kShortHeaderBytes> encode_short(const ShortHeader& header) {
    ByteWriter out;
    out.u32(header.mark).u16(header.source.value()).u16(header.length).u64(header.number);
    std::array<std::byte, kShortHeaderBytes> bytes{};
    std::ranges::copy(out.view(), bytes.begin());
    return bytes;
}

std::optional<ShortHeader> decode_short(Bytes packet) {
    ByteReader in{packet};
    ShortHeader header;
    header.mark = in.u32();
    header.source = Rank{in.u16()};
    header.length = in.u16();
    header.number = in.u64();
    return in.ok() ? std::optional{header} : std::nullopt;
}

}  // namespace stage
