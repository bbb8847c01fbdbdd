// Draws the scenario of a seed.
//
// First which faults exist at all, then how strong each is, so that rare combinations happen
// and every fault is also seen alone. A scenario test sets the same fields by hand.
#pragma once

#include "transport/base/prng.h"
#include "transport/base/units.h"
#include "transport/core/base/contract.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Loss, in a million packets.
struct LossPlan {
    std::uint32_t independent_ppm = 0;  ///< On each member's downlink.
    std::uint32_t shared_ppm = 0;       ///< Lost before the switch multiplies: for all.
    std::uint32_t burst_ppm = 0;        ///< A burst begins on a downlink,
    std::uint32_t burst_packets = 50;   ///< as long as these take.
    std::uint32_t duplicate_ppm = 0;
    std::uint32_t reorder_ppm = 0;  ///< Comes later than the next ones,
    Duration reorder_delay{};       ///< by so much.
    std::uint32_t corrupt_ppm = 0;  ///< Its seal fails.
};

/// What is wrong with one member.
struct MemberPlan {
    Duration clock_offset{};
    std::optional<Duration> leap_at;  ///< When its clock leaps forward.
    Duration leap{};                  ///< How far its clock leaps.
    Duration stamp_leap{};            ///< How far its kernel's stamps leap, either way.
    Duration start_at{};              ///< Its process isn't there before.
    bool is_newer = false;  ///< It says more than this version knows, but nothing critical.
    std::uint32_t extra_loss_ppm = 0;             ///< On its own downlink.
    std::optional<Duration> hears_group_until;    ///< The group stops reaching it then.
    std::optional<Duration> hears_group_from;     ///< The group reaches it from then on.
    std::uint32_t path_body_max = 0;              ///< Larger bodies are dropped; 0: none is.
    Duration packet_cost{};                       ///< CPU time for a received packet.
    Duration wake_latency{};                      ///< From an arrival to the loop.
    std::uint64_t downlink_bytes_per_s = 0;       ///< 0: the plan's.
    std::uint64_t disk_bytes_per_s = 0;           ///< 0: the plan's.
    std::optional<Duration> disk_stands_at;       ///< When its disk begins to stand.
    Duration disk_stands_for{};                   ///< How long it completes nothing.
    std::optional<Duration> disk_full_at;         ///< When its disk is full.
    Duration disk_full_for{};                     ///< How long its stores fail.
    std::optional<std::uint32_t> store_fails_at;  ///< The n-th store says no.
    bool finish_fails = false;
    Duration finish_takes{};                    ///< More than a disk's latency.
    bool holds_already = false;                 ///< The object, from an earlier time.
    std::vector<core::BlockRun> held_before{};  ///< Parts of it, in order and apart.
    bool is_disk_stuck = false;                 ///< Stores never complete.
    std::optional<Duration> crash_at;
    std::optional<Duration> abort_at;
    std::uint32_t memory_flip_ppm = 0;  ///< A placed chunk is wrong in memory.
    std::uint32_t load_fails_ppm = 0;   ///< A read back (not the source's) says no.
    std::uint32_t short_write_ppm = 0;  ///< A store wrote a part only, and gives it back.
    bool is_struck = false;  ///< By a Strike that ends it, or by a partition that may.
};

/// What a member is seen to do.
enum class Seen : std::uint8_t { ready, lacking, request, report, done, holds, data };
/// What happens to a member then. (No process starts again within a broadcast:
/// its incarnation is in the keys of all others, so a daemon begins another
/// broadcast, which resumes: MemberPlan::held_before.)
enum class Harm : std::uint8_t { crash, abort, cut_off, deafen, mute };

/// A fault that comes with an event and not with a time.
struct Strike {
    Seen when = Seen::ready;
    std::optional<std::uint16_t> of;  ///< The member that is seen; empty: any.
    std::uint32_t nth = 1;
    Harm harm = Harm::crash;
    std::uint16_t member = 0;
    Duration lasts{};  ///< How long the harm lasts that does not end the member.
};

/// Members that are separated from the others for a time.
struct Partition {
    std::vector<std::uint16_t> members;
    Duration begin{};
    Duration end{};
    bool hears_nothing = true;  ///< Nothing reaches them,
    bool says_nothing = true;   ///< nothing leaves them.
};

/// What may be wrong with a rail.
enum class RailHarm : std::uint8_t {
    lost,     ///< Nothing passes it, and no host knows that.
    down,     ///< Nothing passes it, and its host sees that it has no link.
    blocked,  ///< Its host cannot send by it: a switch has paused it.
    lossy,    ///< It loses some packets, until the network heals.
    slow,     ///< Its links have another rate, all the time.
};

struct RailFault {
    RailHarm harm = RailHarm::lost;
    std::uint8_t rail = 1;
    std::optional<std::uint16_t> of{};  ///< This member's; empty: those of all.
    Duration begin{};
    Duration end = std::chrono::hours{1};
    std::uint32_t loss_ppm = 0;     ///< If it is lossy.
    std::uint64_t bytes_per_s = 0;  ///< If it is slow.

    [[nodiscard]] bool is_of(std::uint16_t member, std::size_t which) const {
        return rail == which && of.value_or(member) == member;
    }
    [[nodiscard]] bool is_at(Duration time) const { return time >= begin && time < end; }
};

/// Hosts stand still now and then, each by itself: too few cores for many processes.
struct StallPlan {
    Duration every{};  ///< From one to the next, on the average; 0: never.
    Duration least{};  ///< So long,
    Duration most{};   ///< up to this.
    /// The kernel stands still, too: what comes meanwhile has one late stamp.
    bool holds_kernel = false;
};

/// A TCP flow beside the broadcast (cubic_flow.h).
struct FlowPlan {
    std::optional<std::uint16_t> from;  ///< It shares this member's uplink,
    std::optional<std::uint16_t> to;    ///< and this one's downlink.
    Duration begin{};
    Duration end = std::chrono::hours{1};
};

/// The source is a gateway: its blocks come one after the other from another session.
struct LegPlan {
    Duration block_every{};  ///< 0: all blocks are there from the beginning.
    Duration stops_at{};
    Duration stops_for{};

    [[nodiscard]] Duration arrival(std::uint32_t block) const {
        const Duration moving = block_every * (block + 1);
        return moving < stops_at ? moving : moving + stops_for;
    }
};

struct Plan {
    std::uint64_t seed = 1;
    std::uint16_t members = 4;
    std::uint16_t source = 0;
    std::uint32_t chunk_bytes = 1444;
    std::uint32_t chunk_bytes_fallback = 0;  ///< See CoreConfig.
    std::vector<std::uint32_t> block_bytes;  ///< One a block.
    std::uint32_t hole_percent = 0;
    std::uint32_t manifest_blocks = 1;  ///< Others are stored only after these.
    std::uint32_t resident_blocks = 64;
    /// Spare buffers of each receiver, as its core knows them, and as many as there are.
    std::uint32_t spill_blocks = 0;
    std::optional<std::uint32_t> spare_blocks{};
    /// See core/base/limits.h. If there are fewer, the source, too, has no more than these.
    std::uint32_t descriptors_max = 512;
    std::uint64_t link_bytes_per_s = 125'000'000;
    std::uint64_t configured_bytes_per_s = 125'000'000;
    bool is_acker_paced = false;  ///< If no rate is configured.
    bool asks_ring = false;       ///< For repairs.
    bool is_unfenced = false;     ///< The source doesn't wait for READY.
    bool drops_failed = false;    ///< Failed receivers are dropped: BroadcastSettings.
    UnreachedPolicy unreached_policy = UnreachedPolicy::fetch;
    std::uint64_t remembered_bytes_per_s = 0;
    std::uint64_t uplink_bytes_per_s = 0;  ///< 0: as the others.
    /// An uplink is a shaper: this passes it at once after a pause,
    std::uint32_t uplink_bucket_bytes = 0;
    /// and of what waits more than this is lost; 0: the host waits instead.
    std::uint32_t uplink_buffer_bytes = 0;
    Duration propagation = microseconds{10};
    std::uint32_t port_buffer_bytes = 256U << 10U;
    std::uint32_t socket_buffer_bytes = 4U << 20U;
    Duration wake_latency = microseconds{5};
    /// One wake-up of four is late by up to this: too few cores for many processes.
    Duration wake_late_max{};
    StallPlan stalls;
    Duration stamp_noise = microseconds{20};  ///< A kernel's error in arrival times, at most.
    std::uint64_t disk_bytes_per_s = 2'000'000'000;
    Duration disk_latency = microseconds{50};
    Duration disk_late_max{};  ///< One operation of 16 takes up to so much longer.
    /// A disk's thread is late by up to this at one step of four (sim_disk.h).
    Duration disk_step_late_max{};
    LegPlan leg;
    std::optional<Duration> stream_wait;  ///< Empty: the value of core/base/limits.h.
    Duration ready_timeout = seconds{5};
    Duration stall_timeout = seconds{4};
    Duration finish_extra{};
    Duration linger = seconds{4};
    std::optional<Duration> all_listen_at;  ///< When all members learn that all listen.
    LossPlan loss;
    Duration heals_at{};  ///< From then on the network is perfect.
    std::vector<MemberPlan> member;
    std::vector<Partition> partitions;
    std::vector<Strike> strikes;
    std::vector<FlowPlan> flows;
    std::uint8_t stream_flows = 1;  ///< The stream's UDP flows: those of transport/run/flows.h,
    std::uint8_t rails = 1;         ///< which go round among the member's links.
    /// One wake-up in eight of a flow's thread is late by up to this.
    Duration flow_late_max{};
    std::vector<RailFault> rail_faults;
    /// Packets are encrypted, and chunks are not small (object.h). Else they have a checksum.
    bool is_really_sealed = false;
    std::uint64_t events_max = 60'000'000;  ///< More is a world that never ends.
    std::uint32_t packets_per_turn = 64;    ///< A host reads this number, then it works.

    [[nodiscard]] std::uint64_t object_bytes() const;
    [[nodiscard]] std::uint64_t chunks() const;
    /// Time that the object takes on the slowest link, once.
    [[nodiscard]] Duration wire_time() const;
    /// Its files have their names while all still wait for that.
    [[nodiscard]] bool finishes_in_time(const MemberPlan& one) const;
    /// Something keeps it from the object.
    [[nodiscard]] bool is_faulty(const MemberPlan& one) const;
    [[nodiscard]] bool has_rail_harm(RailHarm harm,
                                     std::uint16_t of,
                                     std::size_t rail,
                                     Duration time) const;
    /// The speed of a slow rail; 0: as the other rails.
    [[nodiscard]] std::uint64_t rail_bytes_per_s(std::uint16_t of, std::size_t rail) const;
    /// Nothing in the plan keeps any member from the object.
    [[nodiscard]] bool must_succeed() const;
    /// On one line, for a failure's report.
    [[nodiscard]] std::string describe() const;
};

/// An object of `bytes` in full blocks, for `members` without any fault.
[[nodiscard]] Plan calm_plan(std::uint16_t members, std::uint64_t bytes);
/// A calm_plan() without a configured rate, on emulated hosts: a shaper on each side of a link,
/// whose bucket passes the first packets at once and which drops what waits longer than 30 ms;
/// random loss of `loss_ppm`, to the end.
[[nodiscard]] Plan shaped_plan(std::uint16_t members,
                               std::uint64_t bytes,
                               std::uint64_t mbits,
                               std::uint32_t loss_ppm);
/// In few worlds the group doesn't reach some members, from the beginning or later, for ever or
/// for a time. (Drawn by itself, so that what a seed draws besides stays what it was.)
void draw_reach(Plan& plan);
/// In half of the scenarios all members learn when all have started. (Drawn separately, too.)
void draw_listening(Plan& plan);
/// Faults by events, long partitions, disks that stand still or are full for a
/// while or whose threads are late. (Drawn separately, too.)
void draw_strikes(Plan& plan);
/// Several flows in some worlds, on several rails in half of these, each of which may fail.
/// (Drawn separately, too.)
void draw_rails(Plan& plan);
/// The world of a seed.
[[nodiscard]] Plan draw_plan(std::uint64_t seed);

}  // namespace stage::sim
