// A member's place in the UDP fabric: what its business card says of its socket and interfaces.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"

#include <cstdint>
#include <vector>

namespace stage::udp {

struct UdpPlace {
    Address peer{};            ///< The unicast socket's address, with a port.
    std::uint32_t mtu = 1500;  ///< The smallest of its interfaces', bytes; at least kMinMtu.
    std::uint8_t rails = 1;    ///< Its number of interfaces.
};

[[nodiscard]] std::vector<std::byte> encode_place(const UdpPlace& place);
/// Fails (Blame::internal) on anything but one whole, valid place.
[[nodiscard]] Result<UdpPlace> decode_place(Bytes bytes);

}  // namespace stage::udp
