#include "tests/sim/plan/plan.h"

#include "transport/core/base/limits.h"

#include <algorithm>

namespace stage::sim {
namespace {

/// Most members are drawn small, so that most seeds are fast.
std::uint16_t draw_members(Prng& prng) {
    switch (prng.below(8)) {
        case 0:
            return static_cast<std::uint16_t>(20 + prng.below(30));
        case 1:
        case 2:
            return static_cast<std::uint16_t>(8 + prng.below(12));
        default:
            return static_cast<std::uint16_t>(2 + prng.below(7));
    }
}

std::vector<std::uint32_t> draw_blocks(Prng& prng, std::uint16_t members) {
    const std::uint64_t budget = (8U << 20U) / (members > 16 ? 4U : 1U);
    std::vector<std::uint32_t> blocks;
    std::uint64_t bytes = 0;
    const std::uint64_t size_max = std::uint64_t{1} << (10 + prng.below(11));
    const std::uint64_t count_max = 1 + prng.below(200);
    while (bytes < budget && blocks.size() < count_max) {
        const std::uint64_t size = prng.below(3) == 0 ? size_max : 1 + prng.below(size_max);
        blocks.push_back(static_cast<std::uint32_t>(size));
        bytes += size;
    }
    return blocks;
}

Duration draw_time(Prng& prng, Duration from, Duration to) {
    return from + Duration{static_cast<Duration::rep>(
                      prng.below(static_cast<std::uint64_t>((to - from).count()) + 1))};
}

void draw_network(Prng& prng, Plan& plan) {
    LossPlan& loss = plan.loss;
    const auto some = [&](std::uint64_t one_in, std::uint32_t most) {
        return prng.below(one_in) == 0 ? static_cast<std::uint32_t>(prng.below(most) + 1) : 0U;
    };
    loss.independent_ppm = some(2, prng.below(4) == 0 ? 300'000 : 50'000);
    loss.shared_ppm = some(3, 50'000);
    loss.burst_ppm = some(4, 2'000);
    loss.burst_packets = static_cast<std::uint32_t>(2 + prng.below(300));
    loss.duplicate_ppm = some(4, 100'000);
    loss.reorder_ppm = some(3, 100'000);
    loss.reorder_delay = draw_time(prng, microseconds{1}, milliseconds{3});
    loss.corrupt_ppm = some(5, 30'000);
    plan.heals_at = draw_time(prng, milliseconds{200}, seconds{3});
    const std::uint64_t rates[] = {3'000'000, 25'000'000, 125'000'000, 1'250'000'000};
    plan.link_bytes_per_s = rates[prng.below(4)];
    plan.configured_bytes_per_s = prng.below(6) == 0 ? 0 : plan.link_bytes_per_s;
    if (prng.below(10) == 0) {
        plan.configured_bytes_per_s = plan.link_bytes_per_s / 4 * (1 + prng.below(6));
    }
    plan.propagation = draw_time(
        prng, microseconds{1}, prng.below(6) == 0 ? milliseconds{5} : microseconds{100});
    plan.port_buffer_bytes = 64U << (10U + prng.below(4));
    plan.socket_buffer_bytes = 256U << (10U + prng.below(6));
    plan.wake_latency = draw_time(prng, microseconds{1}, microseconds{200});
}

void draw_member(Prng& prng, Plan& plan, std::uint16_t rank, bool may_fail) {
    MemberPlan& member = plan.member[rank];
    if (prng.below(3) == 0) {
        member.clock_offset = draw_time(prng, -std::chrono::hours{1}, std::chrono::hours{1});
    }
    if (prng.below(10) == 0) {
        member.wake_latency = draw_time(prng, microseconds{1}, milliseconds{9});
    }
    if (prng.below(10) == 0) {
        member.packet_cost = draw_time(prng, microseconds{1}, microseconds{40});
    }
    if (prng.below(10) == 0) {
        member.disk_bytes_per_s = 2'000'000 + prng.below(50'000'000);
    }
    if (prng.below(12) == 0) {
        member.extra_loss_ppm = static_cast<std::uint32_t>(prng.below(500'000));
    }
    if (prng.below(20) == 0) {
        member.memory_flip_ppm = static_cast<std::uint32_t>(prng.below(50));
    }
    if (prng.below(12) == 0) {
        member.load_fails_ppm = static_cast<std::uint32_t>(prng.below(1'000'000));
    }
    if (!may_fail || prng.below(4) != 0) {
        return;
    }
    switch (prng.below(5)) {
        case 0:
            member.store_fails_at =
                static_cast<std::uint32_t>(prng.below(plan.block_bytes.size()));
            return;
        case 1:
            member.finish_fails = true;
            return;
        case 2:
            member.is_disk_stuck = rank != plan.source;
            return;
        case 3:
            member.abort_at = draw_time(prng, Duration{0}, milliseconds{400});
            return;
        default:
            member.crash_at = draw_time(prng, Duration{0}, milliseconds{400});
            return;
    }
}

void draw_partitions(Prng& prng, Plan& plan) {
    const std::uint64_t count = prng.below(4) == 0 ? 1 + prng.below(2) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        Partition partition;
        for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
            if (prng.below(3) == 0) {
                partition.members.push_back(rank);
            }
        }
        partition.begin = draw_time(prng, Duration{0}, milliseconds{300});
        // Shorter than any time-out, or it may be blamed on a member.
        partition.end = partition.begin + draw_time(prng, milliseconds{1}, milliseconds{800});
        partition.hears_nothing = prng.below(4) != 0;
        partition.says_nothing = !partition.hears_nothing || prng.below(4) != 0;
        plan.partitions.push_back(partition);
    }
}

/// What a process meets beside the network and its disk's refusals. From a chance of its own,
/// so that worlds which taught us something stay what they were; a third has none of it.
void draw_odd_members(Plan& plan) {
    if (plan.seed % 3 == 0) {
        return;
    }
    Prng prng{plan.seed ^ 0x0ddU};
    for (MemberPlan& member : plan.member) {
        if (prng.below(12) == 0) {
            member.short_write_ppm = static_cast<std::uint32_t>(1 + prng.below(300'000));
        }
        if (prng.below(16) == 0) {
            member.start_at = draw_time(prng, milliseconds{1}, seconds{2});
        }
        if (prng.below(12) == 0) {
            // Less than any time-out: a clock that leaps says that others were silent.
            member.leap_at = draw_time(prng, Duration{0}, seconds{1});
            member.leap = prng.below(2) == 0 ? draw_time(prng, Duration{0}, seconds{1})
                                             : Duration::zero();
            member.stamp_leap = draw_time(prng, -seconds{10}, seconds{10});
        }
        member.is_newer = prng.below(10) == 0;
        plan.heals_at = std::max(plan.heals_at, member.start_at);
    }
}

/// Drawn by itself, so that what a seed draws besides stays what it was.
void draw_holders(std::uint64_t seed, Plan& plan) {
    Prng prng{seed ^ 0x686f6c64U};
    if (prng.below(4) != 0) {
        return;
    }
    const std::uint64_t percent = prng.below(3) == 0 ? 100 : prng.below(100);
    for (MemberPlan& member : plan.member) {
        member.holds_already = prng.below(100) < percent;
    }
}

/// An earlier broadcast was broken off: most came about as far, some have holes, some nothing.
/// Drawn by itself, too.
void draw_broken_off(std::uint64_t seed, Plan& plan) {
    Prng prng{seed ^ 0x68616c66U};
    if (prng.below(4) != 0) {
        return;
    }
    const auto blocks = static_cast<std::uint32_t>(plan.block_bytes.size());
    const std::uint64_t came = prng.below(blocks + 1);
    const std::uint64_t spread = 1 + prng.below(6);
    const std::uint64_t percent = prng.below(3) == 0 ? 100 : prng.below(100);
    for (MemberPlan& member : plan.member) {
        if (prng.below(100) >= percent) {
            continue;
        }
        std::uint32_t next = prng.below(8) == 0 ? 1 : 0;
        std::uint64_t length = came - std::min(came, prng.below(spread));
        for (int runs = 0; runs < 3 && next < blocks && length > 0; ++runs) {
            const auto count =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(length, blocks - next));
            member.held_before.push_back({.first = BlockIndex{next}, .count = count});
            next += count + 1 + static_cast<std::uint32_t>(prng.below(spread));
            length = prng.below(2) == 0 ? 0 : prng.below(spread);
        }
    }
}

/// TCP flows into a few members, on slow links.
void draw_flows(Plan& plan) {
    if (plan.seed % 8 != 5) {
        return;
    }
    Prng prng{plan.seed ^ 0x666c6f77U};
    plan.configured_bytes_per_s = 0;
    plan.is_acker_paced = false;
    plan.link_bytes_per_s = 3'000'000;
    static_cast<void>(prng.below(4));  // A seed keeps its plan: a choice that is gone.
    const std::uint64_t most = 1 + prng.below(plan.members);
    for (std::uint16_t rank = 0; rank < plan.members && plan.flows.size() < most; ++rank) {
        if (rank == plan.source || prng.below(3) != 0) {
            continue;
        }
        const Duration begin = draw_time(prng, Duration{0}, milliseconds{500});
        plan.flows.push_back({.from = {},
                              .to = rank,
                              .begin = begin,
                              .end = begin + draw_time(prng, {}, seconds{4})});
    }
}

}  // namespace

std::uint64_t Plan::object_bytes() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t bytes : block_bytes) {
        sum += bytes;
    }
    return sum;
}

std::uint64_t Plan::chunks() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t bytes : block_bytes) {
        sum += (bytes + chunk_bytes - 1) / chunk_bytes;
    }
    return sum;
}

Duration Plan::wire_time() const {
    const std::uint64_t bytes = object_bytes() + chunks() * core::kWireOverheadBytes;
    std::uint64_t rate = link_bytes_per_s;
    rate = configured_bytes_per_s > 0 ? std::min(rate, configured_bytes_per_s) : rate;
    return Duration{static_cast<Duration::rep>(static_cast<double>(bytes) * 1e9 /
                                               static_cast<double>(rate))};
}

bool Plan::finishes_in_time(const MemberPlan& one) const {
    return one.finish_takes <=
           stall_timeout * core::Limits{}.ending.finish_factor + finish_extra;
}

bool Plan::is_faulty(const MemberPlan& one) const {
    return one.store_fails_at || one.finish_fails || !finishes_in_time(one) ||
           one.is_disk_stuck || one.crash_at || one.abort_at || one.disk_full_at ||
           one.is_struck ||
           (unreached_policy == UnreachedPolicy::fail && one.hears_group_until);
}

bool Plan::must_succeed() const {
    return std::ranges::none_of(member,
                                [this](const MemberPlan& each) { return is_faulty(each); });
}

Plan calm_plan(std::uint16_t members, std::uint64_t bytes) {
    Plan plan;
    plan.members = members;
    plan.member.resize(members);
    for (std::uint64_t left = bytes; left > 0;) {
        const std::uint64_t block = std::min<std::uint64_t>(left, kBlockBytes);
        plan.block_bytes.push_back(static_cast<std::uint32_t>(block));
        left -= block;
    }
    return plan;
}

Plan shaped_plan(std::uint16_t members,
                 std::uint64_t bytes,
                 std::uint64_t mbits,
                 std::uint32_t loss_ppm) {
    constexpr std::uint32_t kBucketBytes = 128U << 10U;
    Plan plan = calm_plan(members, bytes);
    plan.configured_bytes_per_s = 0;
    plan.link_bytes_per_s = mbits * 125'000;
    plan.uplink_bucket_bytes = kBucketBytes;
    plan.uplink_buffer_bytes = static_cast<std::uint32_t>(plan.link_bytes_per_s * 30 / 1000);
    plan.port_buffer_bytes = plan.uplink_buffer_bytes + kBucketBytes;
    plan.propagation = microseconds{20};
    plan.loss.independent_ppm = loss_ppm;
    plan.heals_at = std::chrono::hours{1};
    return plan;
}

Plan draw_plan(std::uint64_t seed) {
    Prng prng{seed};
    Plan plan;
    plan.seed = seed;
    plan.members = draw_members(prng);
    plan.source = static_cast<std::uint16_t>(prng.below(3) == 0 ? prng.below(plan.members) : 0);
    plan.member.resize(plan.members);
    const std::uint16_t chunks[] = {1444, 1444, 512, 8928};
    plan.chunk_bytes = chunks[prng.below(4)];
    plan.block_bytes = draw_blocks(prng, plan.members);
    plan.hole_percent = prng.below(4) == 0 ? static_cast<std::uint32_t>(prng.below(101)) : 0;
    plan.is_acker_paced = seed % 3 == 0;
    plan.asks_ring = seed % 7 == 0;
    plan.is_unfenced = seed % 11 == 0;
    plan.manifest_blocks = 1 + static_cast<std::uint32_t>(prng.below(2));
    plan.resident_blocks =
        prng.below(3) == 0 ? 2 + static_cast<std::uint32_t>(prng.below(10)) : 64;
    if (seed % 6 == 1) {
        plan.spill_blocks = 1 + static_cast<std::uint32_t>(seed % 17);
        plan.spare_blocks = seed % 4 == 1 ? plan.spill_blocks / 2 : plan.spill_blocks;
    }
    plan.descriptors_max = seed % 5 == 0 ? 4 : plan.descriptors_max;
    draw_network(prng, plan);
    const bool may_fail = prng.below(3) == 0;
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        draw_member(prng, plan, rank, may_fail && prng.below(3) == 0);
    }
    draw_partitions(prng, plan);
    draw_odd_members(plan);
    draw_holders(seed, plan);
    draw_broken_off(seed, plan);
    draw_flows(plan);
    draw_reach(plan);
    draw_listening(plan);
    plan.drops_failed = Prng{seed ^ 0x64726f70U}.below(3) == 0;
    plan.is_really_sealed = prng.below(25) == 0;
    if (plan.chunk_bytes > 1444 && prng.below(3) == 0) {
        plan.chunk_bytes_fallback = 1444;
        const auto narrow = static_cast<std::uint16_t>(prng.below(plan.members * 2U));
        if (narrow < plan.members) {
            plan.member[narrow].path_body_max = 1444;
        }
    }
    // No member is blamed for a block that one link could not give to each member in time. (A
    // site with such links raises StallTimeout, too: progress is measured in whole blocks,
    // and when all the others lost one, its repair may come from a single uplink, three times
    // over. The check stays the same: only members that cannot finish are named.)
    const std::uint64_t each = std::uint64_t{plan.members} * kBlockBytes * 3;
    plan.stall_timeout = std::max<Duration>(
        plan.stall_timeout,
        milliseconds{static_cast<std::int64_t>(each * 1000 / plan.link_bytes_per_s)});
    return plan;
}

}  // namespace stage::sim
