// Prints a scenario on one line, for a failure's report.
#include "tests/sim/plan/plan.h"

namespace stage::sim {
namespace {

std::string ms(Duration time) {
    return std::to_string(time.count() / 1'000'000) + "ms";
}

std::string faults_of(const MemberPlan& each) {
    std::string faults;
    faults += each.store_fails_at ? " store-fails" : "";
    faults += each.holds_already ? " holds" : "";
    for (const core::BlockRun& run : each.held_before) {
        faults += " has" + std::to_string(run.first.value()) + "+" + std::to_string(run.count);
    }
    faults += each.disk_stands_at
                  ? " disk-stands@" + ms(*each.disk_stands_at) + "+" + ms(each.disk_stands_for)
                  : "";
    faults += each.disk_full_at
                  ? " disk-full@" + ms(*each.disk_full_at) + "+" + ms(each.disk_full_for)
                  : "";
    faults += each.is_struck ? " struck" : "";
    faults += each.finish_fails ? " finish-fails" : "";
    faults += each.is_disk_stuck ? " disk-stuck" : "";
    faults += each.crash_at ? " crash@" + ms(*each.crash_at) : "";
    faults += each.abort_at ? " abort@" + ms(*each.abort_at) : "";
    faults += each.extra_loss_ppm > 0 ? " loss" : "";
    faults += each.packet_cost > Duration{} ? " slow-cpu" : "";
    faults += each.disk_bytes_per_s > 0 ? " slow-disk" : "";
    faults += each.memory_flip_ppm > 0 ? " flips" : "";
    faults += each.load_fails_ppm > 0 ? " load-fails" : "";
    faults += each.short_write_ppm > 0 ? " short-writes" : "";
    faults += each.start_at > Duration{} ? " late" + ms(each.start_at) : "";
    faults += each.leap_at ? " leaps@" + ms(*each.leap_at) : "";
    faults += each.is_newer ? " newer" : "";
    faults += each.hears_group_until ? " unreachable@" + ms(*each.hears_group_until) : "";
    faults += each.hears_group_from ? ".." + ms(*each.hears_group_from) : "";
    return faults;
}

}  // namespace

std::string Plan::describe() const {
    std::string text =
        "members=" + std::to_string(members) + " source=" + std::to_string(source) +
        " blocks=" + std::to_string(block_bytes.size()) +
        " bytes=" + std::to_string(object_bytes()) + " chunk=" + std::to_string(chunk_bytes) +
        " resident=" + std::to_string(resident_blocks) +
        (spill_blocks > 0 ? " spill=" + std::to_string(spill_blocks) + "/" +
                                std::to_string(spare_blocks.value_or(spill_blocks))
                          : "") +
        (descriptors_max < 512 ? " few descriptors" : "") +
        " link=" + std::to_string(link_bytes_per_s) +
        " rate=" + std::to_string(configured_bytes_per_s) + (is_acker_paced ? " acker" : "") +
        (asks_ring ? " ring" : "") + (is_unfenced ? " unfenced" : "") +
        (drops_failed ? " drops" : "") + " port=" + std::to_string(port_buffer_bytes) +
        " loss=" + std::to_string(loss.independent_ppm) + "/" +
        std::to_string(loss.shared_ppm) + "/" + std::to_string(loss.burst_ppm) + "x" +
        std::to_string(loss.burst_packets) + " dup=" + std::to_string(loss.duplicate_ppm) +
        " reorder=" + std::to_string(loss.reorder_ppm) +
        " corrupt=" + std::to_string(loss.corrupt_ppm) + " heals=" + ms(heals_at) +
        (disk_step_late_max > Duration{}
             ? " disk-steps=" + std::to_string(disk_step_late_max.count() / 1'000) + "us"
             : "") +
        (all_listen_at ? " listen@" + ms(*all_listen_at) : "") +
        (is_really_sealed ? " sealed" : "");
    for (const FlowPlan& flow : flows) {
        text += " flow(" + std::to_string(flow.to.value_or(source)) + ") " + ms(flow.begin) +
                ".." + ms(flow.end);
    }
    if (stream_flows > 1) {
        text += " streams=" + std::to_string(stream_flows) + "/" + std::to_string(rails) +
                " late=" + ms(flow_late_max);
    }
    for (const RailFault& fault : rail_faults) {
        const char* harms[] = {"lost", "down", "blocked", "lossy", "slow"};
        text += " rail(" + std::to_string(fault.rail) +
                (fault.of ? " of " + std::to_string(*fault.of) : "") + " " +
                harms[static_cast<std::size_t>(fault.harm)] + ") " + ms(fault.begin) + ".." +
                ms(fault.end);
    }
    for (std::size_t rank = 0; rank < member.size(); ++rank) {
        const std::string faults = faults_of(member[rank]);
        if (!faults.empty()) {
            text += " [" + std::to_string(rank) + ":" + faults + "]";
        }
    }
    for (const Partition& partition : partitions) {
        text += " partition(" + std::to_string(partition.members.size()) + ") " +
                ms(partition.begin) + ".." + ms(partition.end);
    }
    for (const Strike& strike : strikes) {
        const char* whens[] = {
            "ready", "lacking", "request", "report", "done", "holds", "data"};
        const char* harms[] = {"crash", "abort", "cut off", "deafen", "mute"};
        text += " strike(" + std::to_string(strike.member) + " " +
                harms[static_cast<std::size_t>(strike.harm)] + " " + ms(strike.lasts) +
                ") at " + std::to_string(strike.nth) + ". " +
                whens[static_cast<std::size_t>(strike.when)] +
                (strike.of ? " of " + std::to_string(*strike.of) : "");
    }
    return text;
}

}  // namespace stage::sim
