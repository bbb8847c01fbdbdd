// Reads the object and the configuration of a driven core: each bit of one byte is a choice.
#pragma once

#include "tests/fuzz/transport/driven_core.h"
#include "transport/core/relay/relay_tree.h"

#include <chrono>

namespace stage {

/// The shape of a source's object; the input has its number of blocks.
inline core::ObjectShape driven_shape(ByteReader& input) {
    const std::uint32_t blocks = 1U + input.u8() % 6U;
    return {.blocks = blocks,
            .object_bytes = std::uint64_t{blocks - 1} * kBlockBytes + kDrivenLastBytes};
}

/// The configuration of member `own`; the source has rank 0.
inline core::CoreConfig driven_member(std::uint16_t own) {
    core::CoreConfig config;
    config.own = Rank{own};
    config.members = kDrivenMembers;
    config.source = Rank{0};
    config.session = 1;
    config.chunk_bytes = kDrivenChunkBytes;
    return config;
}

inline core::CoreConfig multicast_config(ByteReader& input, std::uint16_t own) {
    const unsigned how = input.u8();
    core::CoreConfig config = driven_member(own);
    config.chunk_bytes_fallback = (how & 1U) != 0 ? wire::kMinChunkBytes : 0U;
    config.rate_bytes_per_s = (how & 2U) != 0 ? 10'000'000U : 0U;
    config.policies.readiness =
        (how & 8U) != 0 ? ReadinessPolicy::none : ReadinessPolicy::fence;
    config.unreached_policy = static_cast<UnreachedPolicy>(how % 3U);
    config.holds_already = (how & 16U) != 0;
    config.policies.rate = (how & 32U) != 0 ? RatePolicy::acker : config.policies.rate;
    config.resident_blocks = (how & 64U) != 0 ? 3 : 16;
    config.group_buffer_bytes = (how & 128U) != 0 ? 1U << 18U : 0U;
    return config;
}

/// The lowest two bits are the degree less 1, for next_relay; the highest: two trees.
inline core::CoreConfig relay_config(ByteReader& input, std::uint16_t own) {
    const unsigned how = input.u8();
    core::CoreConfig config = driven_member(own);
    config.chunk_bytes = kRelayChunkBytes;
    config.next_relay = (how & 128U) != 0 ? Relay::two_trees() : Relay::tree(1U + how % 4U);
    config.drops_failed = (how & 4U) != 0;
    if ((how & 8U) != 0 && config.own != config.source) {
        config.held_before = {{.first = BlockIndex{0}, .count = 1}};
        config.bytes_held_before = 1;
    }
    config.holds_already = (how & 16U) != 0;
    config.stall_timeout = std::chrono::seconds{(how & 32U) != 0 ? 3 : 30};
    config.resident_blocks = (how & 64U) != 0 ? 3 : 16;
    return config;
}

}  // namespace stage
