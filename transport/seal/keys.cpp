#include "transport/seal/keys.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/seal/algorithms.h"

#include <algorithm>

namespace stage::seal {
namespace {

constexpr std::string_view kLabel = "stagecast 1 packets";
constexpr std::string_view kRelayLabel = "stagecast 1 relay";

}  // namespace

std::uint32_t demux(const SessionId& session) {
    ByteReader reader{session};
    return reader.u32();
}

SessionId relay_session(const SessionId& multicast) {
    SessionId relay{};
    hkdf(algorithms().hkdf.get(),
         multicast,
         as_bytes(kRelayLabel),
         as_bytes(kRelayLabel),
         relay);
    return relay;
}

PacketKey derive(const GroupKey& group, const SessionId& session, const SenderEpoch& sender) {
    ByteWriter info;
    info.raw(as_bytes(kLabel)).u16(sender.rank.value()).raw(sender.incarnation);
    info.u32(sender.epoch);
    std::array<std::byte, 28> material{};
    hkdf(algorithms().hkdf.get(), group, session, info.view(), material);
    PacketKey key{};
    std::copy_n(material.begin(), key.key.size(), key.key.begin());
    std::copy_n(material.begin() + key.key.size(), key.iv.size(), key.iv.begin());
    return key;
}

std::array<std::byte, 12> nonce(const PacketKey& key, std::uint64_t packet_number) {
    std::array<std::byte, 12> value = key.iv;
    for (unsigned i = 0; i < 8; ++i) {
        value[4 + i] ^= static_cast<std::byte>((packet_number >> (8U * (7U - i))) & 0xffU);
    }
    return value;
}

}  // namespace stage::seal
