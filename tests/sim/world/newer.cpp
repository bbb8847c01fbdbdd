#include "tests/sim/world/newer.h"

#include "transport/base/codec.h"
#include "transport/wire/body.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint8_t kUnknownFlag = 0x4;
constexpr std::uint8_t kUnknownTlv = 0x7d;

}  // namespace

/// An OFFER has the TLV before its padding, the other bodies at their end.
void speak_newer(Train& train) {
    train.header.flags |= kUnknownFlag;
    if (train.header.is_data()) {
        return;
    }
    std::size_t end = train.body.size();
    if (train.header.type == wire::PacketType::offer) {
        end = wire::write(*wire::read_offer(train.body)).size();
    }
    const auto tlv = ByteWriter{}.u8(kUnknownTlv).u16(2).u16(0xbeef).take();
    train.body.resize(std::max(train.body.size(), end + tlv.size()));
    std::ranges::copy(tlv, train.body.begin() + static_cast<std::ptrdiff_t>(end));
    train.body_bytes = static_cast<std::uint32_t>(train.body.size());
    train.last_body_bytes = train.body_bytes;
}

}  // namespace stage::sim
