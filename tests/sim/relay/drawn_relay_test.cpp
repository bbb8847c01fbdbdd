// Draws relays with faults, alone and after a multicast session that handed over to them.
#include "tests/sim/relay/relay_world.h"
#include "tests/sim/world/environment.h"
#include "tests/sim/world/ran.h"
#include "transport/core/relay/relay_tree.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

namespace stage::sim {
namespace {

using namespace std::chrono_literals;

/// In some relays all members take their time to name their files. (From a chance of its own,
/// so that what a seed draws besides stays what it was.)
void draw_finishes(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x66696e69U};
    if (prng.below(3) != 0) {
        return;
    }
    const std::uint64_t most = prng.below(12'000);
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        plan.slow_finishes[rank] =
            std::chrono::milliseconds{static_cast<std::int64_t>(prng.below(most + 1))};
    }
}

/// In some relays paths drop the long segments that some members allow their peers at first.
void draw_narrow_paths(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x6e617272U};
    const bool has_some = prng.below(3) == 0;
    for (std::uint32_t rank = 1; has_some && rank < plan.members; ++rank) {
        plan.narrow_paths[rank] = static_cast<std::uint32_t>(prng.below(4)) % 3;
    }
}

/// In some relays the members are far from each other.
void draw_delay(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x64656c61U};
    if (prng.below(3) == 0) {
        plan.delay = std::chrono::milliseconds{1 + static_cast<std::int64_t>(prng.below(150))};
    }
}

/// In some relays connections end, sometimes all of a member's again and again.
void draw_cuts(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x63757473U};
    for (std::uint64_t members = prng.below(4); members > 0; --members) {
        const auto rank = static_cast<std::uint32_t>(prng.below(plan.members));
        auto at = std::chrono::milliseconds{static_cast<std::int64_t>(prng.below(5000))};
        for (std::uint64_t cuts = 1 + prng.below(6); cuts > 0; --cuts) {
            plan.cuts.emplace_back(rank, at);
            at += std::chrono::milliseconds{static_cast<std::int64_t>(prng.below(1500))};
        }
    }
}

/// In some relays a member's disk is full, and in some those that fail are dropped. (Where that
/// ends a relay while a member is stopped or has no connection, it does not hear why.)
void draw_drops(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x64726f70U};
    plan.drops_failed = prng.below(2) == 0;
    const auto blocks =
        static_cast<std::uint32_t>((plan.object_bytes + kBlockBytes - 1) / kBlockBytes);
    const auto rank = static_cast<std::uint32_t>(1 + prng.below(plan.members - 1));
    const auto block = static_cast<std::uint32_t>(prng.below(blocks));
    const bool may_refuse = plan.drops_failed || (plan.stops.empty() && plan.cuts.empty());
    if (may_refuse && prng.below(6) == 0 && !plan.crashes.contains(rank) &&
        !plan.held_before.contains(rank) && !plan.holders.contains(rank)) {
        plan.refused_store = std::pair{rank, block};
    }
}

/// In some relays the ports of some members are closed: they connect, and take no connection.
/// (Each of them costs a child 2 s.)
void draw_firewalls(RelayPlan& plan, std::uint64_t seed) {
    Prng prng{seed ^ 0x66697265U};
    if (prng.below(4) != 0) {
        return;
    }
    plan.stall_timeout = 30s;
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        if (prng.below(3) == 0) {
            plan.firewalls[rank] =
                prng.below(2) == 0 ? RelayPlan::Firewall::rejects : RelayPlan::Firewall::drops;
        }
    }
}

/// Draws up to three faults, and others beside them.
void draw_faults(RelayPlan& plan, Prng& prng, std::uint64_t seed) {
    const auto below = [&prng](std::uint32_t bound) {
        return static_cast<std::uint32_t>(prng.next() % bound);
    };
    for (std::uint32_t fault = below(4); fault > 0; --fault) {
        const std::uint32_t rank = 1 + below(plan.members - 1);
        const auto at = std::chrono::milliseconds{below(2500)};
        switch (below(6)) {
            case 0:
                plan.crashes[rank] = at;
                break;
            case 1:
                plan.stops[rank] = {.from = at,
                                    .until = at + std::chrono::milliseconds{below(4000)}};
                break;
            case 2:
                plan.damaged = std::pair{rank, below(24)};
                break;
            case 3:
                plan.slow_links[rank] = 3'000'000 + below(9'000'000);
                break;
            case 4:
                plan.slow_disks[rank] = 5'000'000 + below(20'000'000);
                break;
            default:
                if (plan.holders.contains(rank)) {
                    break;
                }
                plan.held_before[rank] = {
                    {.first = BlockIndex{0},
                     .count = below(
                         static_cast<std::uint32_t>(plan.object_bytes / kBlockBytes) + 1)}};
                if (plan.held_before[rank].front().count == 0) {
                    plan.held_before.erase(rank);
                }
        }
    }
    draw_finishes(plan, seed);
    draw_narrow_paths(plan, seed);
    draw_delay(plan, seed);
    draw_cuts(plan, seed);
    draw_drops(plan, seed);
    draw_firewalls(plan, seed);
}

RelayPlan drawn(std::uint64_t seed) {
    Prng prng{seed};
    const auto below = [&prng](std::uint32_t bound) {
        return static_cast<std::uint32_t>(prng.next() % bound);
    };
    RelayPlan plan;
    plan.members = 2 + below(20);
    const std::uint32_t degree = 1 + below(4);
    plan.relay = degree > 3 ? Relay::two_trees() : Relay::tree(degree);
    plan.object_bytes = 1 + prng.next() % (24U << 20U);
    plan.chunk_bytes = below(2) == 0 ? 8928 : 1444;
    plan.stall_timeout = 6s;
    draw_faults(plan, prng, seed);
    return plan;
}

/// What the plan has, so that the failed seed becomes a scenario.
std::string text_of(const RelayPlan& plan) {
    const auto in_ms = [](Duration time) {
        return std::to_string(time / std::chrono::milliseconds{1}) + " ms";
    };
    std::string text = "members " + std::to_string(plan.members) + ", degree " +
                       std::to_string(plan.relay.number()) + ", bytes " +
                       std::to_string(plan.object_bytes) + ", chunks " +
                       std::to_string(plan.chunk_bytes) + ", delay " + in_ms(plan.delay) +
                       (plan.drops_failed ? ", drops" : "");
    const auto add = [&text](const char* what, std::uint32_t rank, const std::string& more) {
        text += std::string{"\n  "} + what + " " + std::to_string(rank) + " " + more;
    };
    for (const auto& [rank, at] : plan.starts) {
        add("start", rank, in_ms(at));
    }
    for (const auto& [rank, at] : plan.crashes) {
        add("crash", rank, in_ms(at));
    }
    for (const auto& [rank, pause] : plan.stops) {
        add("stop", rank, in_ms(pause.from) + " to " + in_ms(pause.until));
    }
    for (const auto& [rank, at] : plan.cuts) {
        add("cut", rank, in_ms(at));
    }
    for (const auto& [rank, rate] : plan.slow_links) {
        add("slow link", rank, std::to_string(rate));
    }
    for (const auto& [rank, rate] : plan.slow_disks) {
        add("slow disk", rank, std::to_string(rate));
    }
    for (const auto& [rank, time] : plan.slow_finishes) {
        add("slow finish", rank, in_ms(time));
    }
    for (const auto& [rank, times] : plan.narrow_paths) {
        add("narrow path", rank, std::to_string(times));
    }
    for (const auto& [rank, firewall] : plan.firewalls) {
        add("firewall", rank, firewall == RelayPlan::Firewall::drops ? "drops" : "rejects");
    }
    for (const auto& [rank, runs] : plan.held_before) {
        add("held before", rank, std::to_string(runs.front().count));
    }
    for (const std::uint32_t rank : plan.holders) {
        add("holder", rank, "");
    }
    if (plan.refused_store) {
        add("refused", plan.refused_store->first, std::to_string(plan.refused_store->second));
    }
    if (plan.damaged) {
        add("damaged", plan.damaged->first, std::to_string(plan.damaged->second));
    }
    return text;
}

/// A member that had no path to the source when the relay failed does not hear of that. It has
/// two things to say, which are true: its parent takes no connection; or it hears nothing.
bool is_cut_off(const RelayPlan& plan, const RelayWorld& world, std::uint32_t rank) {
    const auto& outcome = world.outcome(rank);
    if (!world.was_cut_off(rank) || world.outcome(0).phase != core::Phase::failed) {
        return false;
    }
    const core::RelayTree tree{.members = plan.members, .source = Rank{0}, .relay = plan.relay};
    const Rank own{static_cast<std::uint16_t>(rank)};
    return outcome.is_unconnected ? outcome.culprit == tree.at(tree.parent(tree.place(own))) &&
                                        plan.firewalls.contains(outcome.culprit.value())
                                  : outcome.culprit == own;
}

/// The time that a member needs between two cuts to gain one block and say so: the longest
/// pause before an attempt to connect (500 ms), six ways (a connection's RTT, READY, OFFER,
/// REQUEST, DATA), the block, and the time between two PULSEs (250 ms). Where the member's path
/// drops long segments, each attempt to shorten them takes 500 ms.
Duration time_to_gain(const RelayPlan& plan, std::uint32_t rank) {
    const auto slow = plan.slow_links.find(rank);
    const std::uint64_t rate = slow != plan.slow_links.end() ? slow->second : plan.bytes_per_s;
    const auto narrow = plan.narrow_paths.find(rank);
    const std::uint32_t narrowings = narrow != plan.narrow_paths.end() ? narrow->second : 0;
    return 750ms + 6 * plan.delay + time_of(kBlockBytes, rate) + narrowings * 500ms;
}

/// A member whose connections are cut again and again for a stall timeout, each time before it
/// gains a block, makes no progress. (With one other member a cut of the source is its own.)
/// Nothing that it could do would change that, so it may be taken for stuck.
bool is_cut_too_often(const RelayPlan& plan, std::uint32_t rank) {
    if (rank == 0) {
        return false;
    }
    std::vector<Duration> cuts{Duration{}};
    for (const auto& [cut, at] : plan.cuts) {
        if (cut == rank || (cut == 0 && plan.members == 2)) {
            cuts.push_back(at);
        }
    }
    std::ranges::sort(cuts);
    const Duration needed = time_to_gain(plan, rank);
    Duration from = cuts.front();
    Duration before = from;
    for (const Duration at : cuts) {
        from = at - before < needed ? from : at;
        before = at;
        if (at + needed - from >= plan.stall_timeout) {
            return true;
        }
    }
    return false;
}

/// Only those that cannot go on are named or dropped, and all others complete if they may.
void expect_right_end(const RelayPlan& plan, const RelayWorld& world) {
    INFO(text_of(plan));
    std::set<std::uint32_t> failing;
    for (const auto& [rank, at] : plan.crashes) {
        failing.insert(rank);
    }
    if (plan.refused_store) {
        failing.insert(plan.refused_store->first);
    }
    for (std::uint32_t rank = 1; rank < plan.members; ++rank) {
        if (is_cut_too_often(plan, rank)) {
            failing.insert(rank);
        }
    }
    const bool goes_on = plan.drops_failed && failing.size() + 1 < plan.members;
    CHECK(world.faults().empty());
    for (std::uint32_t rank = 0; rank < plan.members; ++rank) {
        CAPTURE(rank);
        if (plan.crashes.contains(rank)) {
            continue;
        }
        REQUIRE(world.is_over(rank));
        const auto& outcome = world.outcome(rank);
        INFO((outcome.why ? outcome.why->sentence() : "no error"));
        if (failing.empty() || (goes_on && !failing.contains(rank))) {
            CHECK(outcome.phase == core::Phase::released);
            CHECK(outcome.held_at);
        } else if (outcome.phase == core::Phase::failed) {
            CHECK((failing.contains(outcome.culprit.value()) || is_cut_off(plan, world, rank)));
        }
        for (const core::DroppedMember& dropped : outcome.dropped) {
            CHECK(failing.contains(dropped.rank.value()));
        }
        // (A source whose receivers have all crashed need not have read all of it. Where a
        // member crashed, others may have had no time to finish.)
        CHECK((outcome.held_at || rank == 0 || plan.refused_store ||
               is_cut_too_often(plan, rank) ||
               (!plan.crashes.empty() && !plan.slow_finishes.empty())));
    }
}

/// A multicast session that some members do not hear, so that it ends by a hand-over.
Plan drawn_hand_over(std::uint64_t seed) {
    Prng prng{seed ^ 0x68616e64U};
    const auto members = static_cast<std::uint16_t>(2 + prng.below(12));
    const std::uint64_t bytes = 1 + prng.below(prng.below(3) == 0 ? 20'000 : 16 * kMiB);
    Plan plan = lossy_plan(members, bytes, static_cast<std::uint32_t>(prng.below(3) * 20'000));
    plan.seed = seed;
    plan.unreached_policy = UnreachedPolicy::relay;
    for (std::uint64_t unreached = 1 + prng.below(3); unreached > 0; --unreached) {
        plan.member[1 + prng.below(members - 1U)].hears_group_until = Duration{};
    }
    if (prng.below(3) == 0) {
        plan.member[prng.below(members)].start_at =
            milliseconds{static_cast<std::int64_t>(prng.below(2000))};
    }
    return plan;
}

/// The relay of the same members, each of which begins when its multicast session has ended.
RelayPlan relay_after(const World& world, std::uint64_t seed) {
    Prng prng{seed};
    RelayPlan relay;
    relay.members = world.plan().members;
    relay.relay = prng.below(4) == 0 ? Relay::two_trees() : *world.host(0).outcome().relay;
    relay.object_bytes = world.plan().object_bytes();
    relay.chunk_bytes = 16'384;
    relay.stall_timeout = 6s;
    Instant first = *world.host(0).over_at();
    for (std::uint16_t rank = 0; rank < relay.members; ++rank) {
        first = std::min(first, *world.host(rank).over_at());
    }
    for (std::uint16_t rank = 0; rank < relay.members; ++rank) {
        relay.starts[rank] = *world.host(rank).over_at() - first;
        if (rank != 0 && world.host(rank).content().is_whole()) {
            relay.holders.insert(rank);
        }
    }
    draw_faults(relay, prng, seed);
    return relay;
}

TEST_CASE("drawn relays after a hand-over end as they should", "[relay][handover]") {
    const std::uint64_t runs = number_of("RUNS", 200) / 4;
    const std::uint64_t begin = number_of("SEED", 1);
    for (std::uint64_t seed = begin; seed < begin + runs; ++seed) {
        CAPTURE(seed);
        World world{drawn_hand_over(seed)};
        world.run();
        CHECK(world.complaints().empty());
        for (std::uint16_t rank = 0; rank < world.plan().members; ++rank) {
            REQUIRE(world.host(rank).outcome().phase == core::Phase::handed_over);
        }
        const RelayPlan plan = relay_after(world, seed);
        RelayWorld relay{plan};
        relay.run(400s);
        expect_right_end(plan, relay);
    }
}

TEST_CASE("drawn relays with faults end as they should", "[relay]") {
    const std::uint64_t runs = number_of("RUNS", 200);
    const std::uint64_t begin = number_of("SEED", 1);
    for (std::uint64_t seed = begin; seed < begin + runs; ++seed) {
        CAPTURE(seed);
        const RelayPlan plan = drawn(seed);
        RelayWorld world{plan};
        world.run(400s);
        expect_right_end(plan, world);
    }
}

}  // namespace
}  // namespace stage::sim
