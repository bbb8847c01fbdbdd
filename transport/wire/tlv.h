// Reads and writes the TLVs that end the body of every control packet.
//
//     type u8 | length u16 | value (length bytes)
//
// They make room for later releases: a reader skips a TLV whose type it does not know, and the
// bytes that a value has beyond those that it knows. A TLV that changes what the packet means
// has the critical bit: a reader that does not know it refuses the whole body. Type 0 ends the
// TLVs; what follows it is padding. docs/protocol, 3.4, is normative.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/units.h"

#include <cstdint>

namespace stage::wire {

/// Append only. A number has the same meaning in all bodies.
enum class TlvType : std::uint8_t {
    padding = 0,          ///< The end of the TLVs. It has no length.
    ecn = 1,              ///< REPORT: the ECN marks of the packets received.
    dropped = 2,          ///< RELEASE: the members that the group went on without.
    representatives = 3,  ///< OFFER, DESCRIBE: the receivers that report often.
    relay = 4,            ///< RELEASE: the group goes on by a relay.
    unreached = 5,        ///< RELEASE: members that multicast does not reach.
    joined = 6,           ///< PULSE up a relay: the members from the sender on down.
    gained = 7,           ///< PULSE up a relay: the blocks that these have ever gained.
};

/// In the type: a reader that does not know the rest of the type refuses the body.
inline constexpr std::uint8_t kTlvCritical = 0x80;
inline constexpr std::size_t kTlvHeadBytes = 3;

/// What a body makes of one TLV.
enum class TlvUse : std::uint8_t { taken, unknown, invalid };

/// Reads TLVs to the end of the body, or to the padding. `use` gets the type without its
/// critical bit, and the value. False if a TLV exceeds the body, is invalid, or is unknown and
/// critical.
template <class Use>
[[nodiscard]] bool read_tlvs(ByteReader& in, Use use) {
    while (in.ok() && in.left() > 0) {
        const std::uint8_t type = in.u8();
        if (type == static_cast<std::uint8_t>(TlvType::padding)) {
            return true;
        }
        const std::uint16_t length = in.u16();
        const Bytes value = in.raw(length);
        if (!in.ok()) {
            return false;
        }
        const TlvUse used = use(static_cast<TlvType>(type & ~unsigned{kTlvCritical}), value);
        const bool is_critical = (type & kTlvCritical) != 0;
        if (used == TlvUse::invalid || (used == TlvUse::unknown && is_critical)) {
            return false;
        }
    }
    return in.ok();
}

/// Reads the TLVs of a body that defines none yet: all are unknown.
[[nodiscard]] inline bool read_tlvs(ByteReader& in) {
    return read_tlvs(in, [](TlvType, Bytes) { return TlvUse::unknown; });
}

/// Appends one TLV. Requires a value below 64 KiB.
inline void write_tlv(ByteWriter& out, TlvType type, Bytes value) {
    out.u8(static_cast<std::uint8_t>(type)).u16(static_cast<std::uint16_t>(value.size()));
    out.raw(value);
}

}  // namespace stage::wire
