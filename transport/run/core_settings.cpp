#include "transport/run/core_settings.h"

#include "transport/base/invariant.h"
#include "transport/core/relay/relay_tree.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint32_t kEthernetMtu = 1500;  ///< What every path is expected to carry.
constexpr std::uint32_t kIpv4AndUdpBytes = 28;
constexpr std::uint32_t kIpv6AndUdpBytes = 48;

std::uint32_t chunk_bytes(const BroadcastConfig& config,
                          std::uint32_t mtu,
                          std::size_t tag_bytes) {
    const std::uint32_t below = config.group.is_v6() ? kIpv6AndUdpBytes : kIpv4AndUdpBytes;
    const auto around = below + static_cast<std::uint32_t>(wire::kHeaderBytes + tag_bytes);
    invariant(mtu >= wire::kMinChunkBytes + around, "an MTU leaves room for a chunk");
    return std::min(mtu - around, wire::kMaxDatagramChunkBytes);
}

}  // namespace

seal::SessionKeys keys_of(const BroadcastConfig& config) {
    seal::SessionKeys keys;
    keys.protection = config.protection;
    keys.group = config.group_key;
    keys.session = config.session;
    keys.own = config.own;
    keys.version = config.version;
    keys.flows_apart = static_cast<std::uint8_t>(core::relay_stripes(config.relay_degree));
    for (const BroadcastMember& member : config.members) {
        keys.members.push_back(member.incarnation);
    }
    return keys;
}

core::CoreConfig core_config(const BroadcastConfig& config, std::size_t tag_bytes) {
    core::CoreConfig core;
    static_cast<core::BroadcastSettings&>(core) = config;
    core.members = static_cast<std::uint16_t>(config.members.size());
    core.session = seal::demux(config.session);
    const bool relays = config.relay_degree > 0;
    core.chunk_bytes = relays ? kRelayChunkBytes : chunk_bytes(config, config.mtu, tag_bytes);
    if (!relays && config.mtu > kEthernetMtu) {
        core.chunk_bytes_fallback = chunk_bytes(config, kEthernetMtu, tag_bytes);
    }
    core.resident_blocks = kResidentBlocks;
    core.spill_blocks = config.spare != nullptr ? kSpillBlocks : 0;
    return core;
}

}  // namespace stage
