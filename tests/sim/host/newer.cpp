#include "tests/sim/host/newer.h"

#include "transport/base/codec.h"
#include "transport/wire/body.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint8_t kUnknownFlag = 0x4;
constexpr std::uint8_t kUnknownTlv = 0x7d;

}  // namespace

/// An OFFER has the TLV before its padding, the other bodies at their end.
void speak_newer(core::Send& send) {
    send.flags |= kUnknownFlag;
    if (send.type == wire::PacketType::data) {
        return;
    }
    std::size_t end = send.body.size();
    if (send.type == wire::PacketType::offer) {
        end = wire::write(*wire::read_offer(send.body)).size();
    }
    const auto tlv = ByteWriter{}.u8(kUnknownTlv).u16(2).u16(0xbeef).take();
    send.body.resize(std::max(send.body.size(), end + tlv.size()));
    std::ranges::copy(tlv, send.body.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace stage::sim
