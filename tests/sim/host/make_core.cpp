#include "tests/sim/host/make_core.h"

#include "transport/run/make_core.h"

namespace stage::sim {

std::unique_ptr<core::Core> make_core(const Plan& plan, std::uint16_t rank, Prng& prng) {
    core::CoreConfig config;
    config.own = Rank{rank};
    config.members = plan.members;
    config.source = Rank{plan.source};
    config.session = 1;
    config.chunk_bytes = plan.chunk_bytes;
    config.chunk_bytes_fallback = plan.chunk_bytes_fallback;
    config.rate_bytes_per_s = plan.configured_bytes_per_s;
    config.policies.rate = plan.is_acker_paced ? RatePolicy::acker : config.policies.rate;
    config.policies.peers = plan.asks_ring ? PeerPolicy::ring : config.policies.peers;
    config.policies.readiness =
        plan.is_unfenced ? ReadinessPolicy::none : config.policies.readiness;
    config.drops_failed = plan.drops_failed;
    config.unreached_policy = plan.unreached_policy;
    config.rate_remembered_bytes_per_s = plan.remembered_bytes_per_s;
    config.resident_blocks = plan.resident_blocks;
    config.spill_blocks = plan.spill_blocks;
    config.group_buffer_bytes = std::uint64_t{plan.socket_buffer_bytes} * 3 / 2;
    config.holds_already = plan.member[rank].holds_already;
    config.held_before = plan.member[rank].held_before;
    config.ready_timeout = plan.ready_timeout;
    config.stall_timeout = plan.stall_timeout;
    config.finish_extra = plan.finish_extra;
    config.linger = plan.linger;
    core::Limits limits;
    limits.source_descriptors_max = plan.descriptors_max < limits.descriptors_max
                                        ? plan.descriptors_max
                                        : limits.source_descriptors_max;
    if (rank != plan.source) {
        limits.descriptors_max = plan.descriptors_max;
        limits.stream_wait = plan.stream_wait.value_or(limits.stream_wait);
    }
    const core::ObjectShape shape{.blocks = static_cast<std::uint32_t>(plan.block_bytes.size()),
                                  .object_bytes = plan.object_bytes()};
    return stage::make_core(config, shape, Multicast{}, prng, limits);
}

}  // namespace stage::sim
