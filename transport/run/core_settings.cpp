#include "transport/run/core_settings.h"

#include "transport/base/invariant.h"
#include "transport/core/relay/relay_tree.h"

#include <algorithm>

namespace stage {
namespace {

/// What of a packet is payload.
std::uint32_t chunk_bytes(const Carrier& carrier,
                          std::uint32_t packet_bytes,
                          std::size_t tag_bytes) {
    const auto around = static_cast<std::uint32_t>(wire::kHeaderBytes + tag_bytes);
    invariant(packet_bytes >= wire::kMinChunkBytes + around, "a packet has room for a chunk");
    return std::min(packet_bytes - around, carrier.chunk_bytes_max);
}

}  // namespace

seal::SessionKeys keys_of(const BroadcastConfig& config) {
    seal::SessionKeys keys;
    keys.protection = config.protection;
    keys.group = config.group_key;
    keys.session = config.session;
    keys.own = config.own;
    keys.version = config.version;
    const Relay* relay = relay_of(config.scheme);
    keys.flows_apart = static_cast<std::uint8_t>(relay != nullptr ? relay->stripes() : 1);
    keys.members = config.members;
    return keys;
}

core::CoreConfig core_config(const BroadcastConfig& config, std::size_t tag_bytes) {
    core::CoreConfig core;
    static_cast<core::BroadcastSettings&>(core) = config;
    core.members = static_cast<std::uint16_t>(config.members.size());
    core.session = seal::demux(config.session);
    const Carrier& carrier = config.carrier;
    core.chunk_bytes = chunk_bytes(carrier, carrier.packet_bytes, tag_bytes);
    if (carrier.packet_bytes_fallback > 0) {
        core.chunk_bytes_fallback =
            chunk_bytes(carrier, carrier.packet_bytes_fallback, tag_bytes);
    }
    core.group_buffer_bytes = carrier.receive_buffer_bytes;
    core.resident_blocks = kResidentBlocks;
    core.spill_blocks = config.spare != nullptr ? kSpillBlocks : 0;
    return core;
}

}  // namespace stage
