// The fields of a plan, one by one: a minimiser resets them, a report prints
// them.
#pragma once

#include "tests/sim/plan/plan.h"

namespace stage::sim {

/// Calls visit(name, field) for all that may be wrong with a member.
template <class Member, class Visit>
void for_each_fault(Member& of, const Visit& visit) {
    visit("clock_offset", of.clock_offset);
    visit("leap_at", of.leap_at);
    visit("leap", of.leap);
    visit("stamp_leap", of.stamp_leap);
    visit("start_at", of.start_at);
    visit("is_newer", of.is_newer);
    visit("extra_loss_ppm", of.extra_loss_ppm);
    visit("hears_group_until", of.hears_group_until);
    visit("hears_group_from", of.hears_group_from);
    visit("path_body_max", of.path_body_max);
    visit("packet_cost", of.packet_cost);
    visit("wake_latency", of.wake_latency);
    visit("downlink_bytes_per_s", of.downlink_bytes_per_s);
    visit("disk_bytes_per_s", of.disk_bytes_per_s);
    visit("disk_stands_at", of.disk_stands_at);
    visit("disk_stands_for", of.disk_stands_for);
    visit("disk_full_at", of.disk_full_at);
    visit("disk_full_for", of.disk_full_for);
    visit("store_fails_at", of.store_fails_at);
    visit("finish_fails", of.finish_fails);
    visit("finish_takes", of.finish_takes);
    visit("holds_already", of.holds_already);
    visit("held_before", of.held_before);
    visit("is_disk_stuck", of.is_disk_stuck);
    visit("crash_at", of.crash_at);
    visit("abort_at", of.abort_at);
    visit("memory_flip_ppm", of.memory_flip_ppm);
    visit("load_fails_ppm", of.load_fails_ppm);
    visit("short_write_ppm", of.short_write_ppm);
    visit("is_struck", of.is_struck);
}

/// Visits what concerns all members, by name; without lists, seed, members
/// and source.
template <class Of, class Visit>
void for_each_setting(Of& of, const Visit& visit) {
    visit("chunk_bytes", of.chunk_bytes);
    visit("chunk_bytes_fallback", of.chunk_bytes_fallback);
    visit("hole_percent", of.hole_percent);
    visit("manifest_blocks", of.manifest_blocks);
    visit("resident_blocks", of.resident_blocks);
    visit("descriptors_max", of.descriptors_max);
    visit("link_bytes_per_s", of.link_bytes_per_s);
    visit("configured_bytes_per_s", of.configured_bytes_per_s);
    visit("is_acker_paced", of.is_acker_paced);
    visit("asks_ring", of.asks_ring);
    visit("is_unfenced", of.is_unfenced);
    visit("drops_failed", of.drops_failed);
    visit("propagation", of.propagation);
    visit("port_buffer_bytes", of.port_buffer_bytes);
    visit("socket_buffer_bytes", of.socket_buffer_bytes);
    visit("wake_latency", of.wake_latency);
    visit("disk_step_late_max", of.disk_step_late_max);
    visit("ready_timeout", of.ready_timeout);
    visit("stall_timeout", of.stall_timeout);
    visit("all_listen_at", of.all_listen_at);
    visit("loss.independent_ppm", of.loss.independent_ppm);
    visit("loss.shared_ppm", of.loss.shared_ppm);
    visit("loss.burst_ppm", of.loss.burst_ppm);
    visit("loss.burst_packets", of.loss.burst_packets);
    visit("loss.duplicate_ppm", of.loss.duplicate_ppm);
    visit("loss.reorder_ppm", of.loss.reorder_ppm);
    visit("loss.reorder_delay", of.loss.reorder_delay);
    visit("loss.corrupt_ppm", of.loss.corrupt_ppm);
    visit("heals_at", of.heals_at);
    visit("stream_flows", of.stream_flows);
    visit("rails", of.rails);
    visit("flow_late_max", of.flow_late_max);
    visit("is_really_sealed", of.is_really_sealed);
}

}  // namespace stage::sim
