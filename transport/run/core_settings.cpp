#include "transport/run/core_settings.h"

#include "transport/base/invariant.h"

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
    for (const BroadcastMember& member : config.members) {
        keys.members.push_back(member.incarnation);
    }
    return keys;
}

core::CoreConfig core_config(const BroadcastConfig& config, std::size_t tag_bytes) {
    core::CoreConfig core;
    core.own = config.own;
    core.members = static_cast<std::uint16_t>(config.members.size());
    core.source = config.source;
    core.session = seal::demux(config.session);
    const bool relays = config.relay_degree > 0;
    core.chunk_bytes = relays ? kRelayChunkBytes : chunk_bytes(config, config.mtu, tag_bytes);
    if (!relays && config.mtu > kEthernetMtu) {
        core.chunk_bytes_fallback = chunk_bytes(config, kEthernetMtu, tag_bytes);
    }
    core.rate_max_bytes_per_s = config.rate_bits_per_s / 8;
    core.rate_bytes_per_s = config.is_rate_configured ? config.rate_bits_per_s / 8 : 0;
    core.rate_remembered_bytes_per_s = config.rate_remembered_bits_per_s / 8;
    core.rate_policy = config.rate_policy;
    core.peer_policy = config.peer_policy;
    core.readiness_policy = config.readiness_policy;
    core.leave_policy = config.leave_policy;
    core.fault_policy = config.fault_policy;
    core.unreached_policy = config.unreached_policy;
    core.relay_degree = config.relay_degree_instead;
    core.holds_already = config.holds_already;
    core.held_before = config.held_before;
    core.bytes_held_before = config.bytes_held_before;
    core.resident_blocks = kResidentBlocks;
    core.spill_blocks = config.spare != nullptr ? kSpillBlocks : 0;
    core.group_buffer_bytes = config.group_buffer_bytes;
    core.ready_timeout = config.ready_timeout;
    core.stall_timeout = config.stall_timeout;
    core.finish_extra = config.finish_extra;
    core.linger = config.linger;
    return core;
}

}  // namespace stage
