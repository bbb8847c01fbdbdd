// The address of a socket as a field of a message (transport/base/fields.h): its 4 or 16 bytes,
// and the port.
#pragma once

#include "transport/base/address.h"
#include "transport/base/codec.h"

namespace stage {

inline void put_address(ByteWriter& out, const Address& address) {
    out.blob(address.ip.bytes()).u16(address.port);
}

/// Fails the reader if the bytes are no address.
inline Address take_address(ByteReader& in) {
    const auto ip = ip_from_bytes(in.blob(16));
    const std::uint16_t port = in.u16();
    if (!ip) {
        in.fail();
    }
    return {.ip = ip.value_or(IpAddress{}), .port = port};
}

}  // namespace stage
