// Draws faults that come with events, partitions that outlast all time-outs, and
// disks that are of no use for a while, or late. Each from a chance of its own.
#include "tests/sim/plan/plan.h"

namespace stage::sim {
namespace {

Duration draw_time(Prng& prng, Duration from, Duration to) {
    return from + Duration{static_cast<Duration::rep>(
                      prng.below(static_cast<std::uint64_t>((to - from).count()) + 1))};
}

std::uint16_t draw_rank(Prng& prng, const Plan& plan) {
    return static_cast<std::uint16_t>(prng.below(plan.members));
}

void draw_events(Plan& plan) {
    Prng prng{plan.seed ^ 0x6576656eU};
    if (prng.below(6) != 0) {
        return;
    }
    const std::uint64_t count = 1 + prng.below(3);
    const bool may_end = prng.below(2) == 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        Strike strike;
        strike.when = static_cast<Seen>(prng.below(7));
        if (prng.below(2) == 0) {
            strike.of = draw_rank(prng, plan);
        }
        strike.nth = static_cast<std::uint32_t>(1 + prng.below(prng.below(2) == 0 ? 1 : 40));
        strike.harm = static_cast<Harm>(may_end ? prng.below(5) : 2 + prng.below(3));
        strike.member = draw_rank(prng, plan);
        // (Shorter than any time-out, as partitions are.)
        strike.lasts = draw_time(prng, milliseconds{1}, milliseconds{800});
        const bool ends = strike.harm == Harm::crash || strike.harm == Harm::abort;
        plan.member[strike.member].is_struck = plan.member[strike.member].is_struck || ends;
        plan.strikes.push_back(strike);
    }
}

/// A member that is cut off for that long may be named, and where that is the source,
/// any member.
void draw_long_partition(Plan& plan) {
    Prng prng{plan.seed ^ 0x6c6f6e67U};
    if (prng.below(24) != 0) {
        return;
    }
    Partition partition;
    bool has_source = false;
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        if (prng.below(3) == 0) {
            partition.members.push_back(rank);
            has_source = has_source || rank == plan.source;
        }
    }
    partition.begin = draw_time(prng, Duration{0}, milliseconds{400});
    partition.end = partition.begin + draw_time(prng, seconds{1}, plan.stall_timeout * 2);
    partition.hears_nothing = prng.below(3) != 0;
    partition.says_nothing = !partition.hears_nothing || prng.below(3) != 0;
    for (const std::uint16_t rank : partition.members) {
        plan.member[rank].is_struck = true;
    }
    for (MemberPlan& member : plan.member) {
        member.is_struck = member.is_struck || has_source;
    }
    plan.partitions.push_back(partition);
}

void draw_disks(Plan& plan) {
    Prng prng{plan.seed ^ 0x6469736bU};
    if (prng.below(8) != 0) {
        return;
    }
    const bool may_be_full = prng.below(4) == 0;
    for (MemberPlan& member : plan.member) {
        if (prng.below(5) == 0) {
            member.disk_stands_at = draw_time(prng, Duration{0}, milliseconds{300});
            member.disk_stands_for = draw_time(prng, milliseconds{1}, milliseconds{1500});
        }
        if (may_be_full && prng.below(6) == 0) {
            member.disk_full_at = draw_time(prng, Duration{0}, milliseconds{200});
            member.disk_full_for = draw_time(prng, milliseconds{1}, milliseconds{200});
        }
    }
}

/// In half of the worlds, from a few microseconds to what a loaded machine makes of it.
void draw_disk_steps(Plan& plan) {
    Prng prng{plan.seed ^ 0x73746570U};
    if (prng.below(2) == 0) {
        plan.disk_step_late_max = microseconds{std::int64_t{1} << (2 + prng.below(13))};
    }
}

}  // namespace

void draw_strikes(Plan& plan) {
    draw_events(plan);
    draw_long_partition(plan);
    draw_disks(plan);
    draw_disk_steps(plan);
}

}  // namespace stage::sim
