// An IP address as a field of a message (transport/base/fields.h): its 4 or 16 bytes.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/ip_address.h"

namespace stage {

inline void put_ip(ByteWriter& out, const IpAddress& ip) {
    out.blob(ip.bytes());
}

/// Fails the reader if the bytes are no address.
inline IpAddress take_ip(ByteReader& in) {
    const auto ip = ip_from_bytes(in.blob(16));
    if (!ip) {
        in.fail();
    }
    return ip.value_or(IpAddress{});
}

}  // namespace stage
