#include "stager/worker/broadcast/statistics.h"

#include "stager/config/transport_choice.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

double in_seconds(Duration time) {
    return std::chrono::duration<double>{time}.count();
}

/// Rounds to microseconds: more digits would suggest a precision that is not there.
double rounded(double seconds) {
    return std::round(seconds * 1e6) / 1e6;
}

/// The time of day at which this member held the files.
nlohmann::json held_at(const BroadcastReport& report) {
    if (!report.held_after) {
        return nullptr;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const Duration ago = report.ran - *report.held_after;
    return rounded(std::chrono::duration<double>{now}.count() - in_seconds(ago));
}

}  // namespace

WorkerProgress progress_of(const Work& work, const core::Outcome& outcome) {
    WorkerProgress progress;
    progress.bytes = outcome.bytes_held;
    progress.bytes_total = work.bytes_expected();
    if (outcome.phase == core::Phase::moving) {
        progress.phase = WorkerPhase::transfer;
    } else if (outcome.phase != core::Phase::wiring &&
               outcome.phase != core::Phase::handed_over) {
        progress.phase = WorkerPhase::serve;
    }
    return progress;
}

WorkerStatistics statistics_of(const Work& work,
                               const BroadcastReport& report,
                               std::size_t rails) {
    const bool holds = report.held_after.has_value();
    const double seconds = in_seconds(report.held_after.value_or(report.ran));
    const FileSink* const sink = work.sink();
    return {.node = {.microseconds = static_cast<std::uint64_t>(std::llround(seconds * 1e6)),
                     .packets_lost = report.outcome.packets_lost,
                     .packets_repaired = report.outcome.packets_repaired,
                     .bytes_read = work.bytes_read(),
                     .bytes_here = sink != nullptr ? sink->bytes_filled() : 0,
                     .fabric = report.transport,
                     .packet_payload = report.chunk_bytes,
                     .was_unreachable = report.outcome.was_unreachable,
                     .was_handed_over = report.was_handed_over},
            .bytes = holds ? work.bytes_expected() : 0,
            .files = holds && sink != nullptr ? sink->file_count() : 0,
            .remarks = work.remarks().substr(0, WorkerStatistics::kMaxRemarksBytes),
            .packets_sent = report.driver.packets_sent,
            .packets_received = report.driver.packets_received,
            .packets_rejected = report.refused.refused(),
            .packets_overflowed = report.driver.socket_overflow,
            .flow_packets = report.flow_packets,
            .rails = static_cast<std::uint8_t>(rails)};
}

std::string statistics_line(const Measured& measured,
                            const Work& work,
                            const BroadcastReport& report) {
    const WorkerStatistics counted = statistics_of(work, report, measured.rails);
    const bool holds = report.held_after.has_value();
    const double seconds = in_seconds(report.held_after.value_or(report.ran));
    nlohmann::ordered_json line;
    line["rank"] = measured.rank.value();
    line["members"] = measured.members;
    line["bytes"] = counted.bytes;
    line["seconds"] = rounded(seconds);
    line["group_seconds"] = rounded(in_seconds(report.ran));
    line["held_at"] = held_at(report);
    line["goodput_mbps"] =
        seconds > 0 ? rounded(static_cast<double>(counted.bytes) * 8 / 1e6 / seconds) : 0.0;
    line["bytes_saved"] = report.shortened.bytes - report.shortened.bytes_sent;
    if (report.outcome.rate_found_bytes_per_s > 0) {
        line["rate_found_mbps"] =
            rounded(static_cast<double>(report.outcome.rate_found_bytes_per_s) * 8 / 1e6);
    }
    if (holds && work.sink() != nullptr) {
        line["files"] = counted.files;
    }
    if (!counted.remarks.empty()) {
        line["remarks"] = counted.remarks;
    }
    line["bytes_read"] = counted.node.bytes_read;
    line["bytes_here"] = counted.node.bytes_here;
    line["packets_sent"] = counted.packets_sent;
    line["packets_received"] = counted.packets_received;
    line["packets_lost"] = counted.node.packets_lost;
    line["packets_repaired"] = counted.node.packets_repaired;
    if (report.outcome.was_unreachable) {
        line["group_unheard"] =
            std::string{measured.broadcasts ? "broadcast" : "multicast"} +
            " packets did not reach this node" +
            (report.was_handed_over ? ", so that all nodes passed the files on by TCP"
             : holds                ? ", which fetched the files from others by unicast"
                                    : "") +
            (measured.broadcasts
                 ? ": it is in another LAN, or a switch limits broadcast; see stagecast doctor"
                 : ": the switches don't forward the group to it; see stagecast doctor");
    }
    if (report.was_handed_over) {
        line["group_relayed"] = choose_transport({.broadcasts = measured.broadcasts,
                                                  .unreached = measured.unreached})
                                    .why;
    }
    line["packets_rejected"] = counted.packets_rejected;
    line["packets_overflowed"] = counted.packets_overflowed;
    if (!counted.flow_packets.empty()) {
        line["flow_packets"] = counted.flow_packets;
    }
    if (counted.rails > 1) {
        line["rails"] = counted.rails;
    }
    line["packet_payload"] = counted.node.packet_payload;
    line["receive_buffer"] = measured.receive_buffer;
    if (measured.buffer_asked > 0) {
        line["receive_buffer_asked"] = measured.buffer_asked;
    }
    line["memory_own"] = report.own_memory_bytes;
    line["memory_sockets"] = report.driver.socket_bytes_max;
    line["transport"] = report.transport;
    line["digest"] = holds ? work.digest() : "";
    if (report.outcome.why) {
        line["culprit"] = report.outcome.culprit.value();
        line["why"] = report.outcome.why->sentence();
    }
    // A transport's name is valid UTF-8; still, nothing may throw here.
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stage
