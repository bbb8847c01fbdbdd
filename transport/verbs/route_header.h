// Reads the route header that stands before a received datagram.
#pragma once

#include "transport/verbs/device.h"

#include <algorithm>

namespace stage::verbs {

/// Whether the port with this GID sent the datagram. InfiniBand and RoCE v2 over IPv6 write the
/// sender's GID after eight bytes (IBA specification, volume 1, 8.3). RoCE v2 over IPv4 writes
/// an IPv4 header into the last twenty bytes (RoCE v2 annex, A17.9.2), and such a GID ends in
/// the address.
[[nodiscard]] inline bool is_from(Bytes route_header, const Gid& port) {
    const auto is_at = [&](std::size_t offset, Bytes address) {
        return std::ranges::equal(route_header.subspan(offset, address.size()), address);
    };
    constexpr std::array<std::byte, 12> kMappedPrefix{
        {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
    const Bytes gid{port};
    const bool is_mapped = std::ranges::equal(gid.first(kMappedPrefix.size()), kMappedPrefix);
    return is_at(8, gid) || (is_mapped && is_at(32, gid.last(4)));
}

}  // namespace stage::verbs
