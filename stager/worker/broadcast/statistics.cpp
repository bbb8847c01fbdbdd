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

std::string statistics_line(const Measured& measured,
                            const Work& work,
                            const BroadcastReport& report) {
    const bool holds = report.held_after.has_value();
    const double seconds = in_seconds(report.held_after.value_or(report.ran));
    const std::uint64_t bytes = holds ? work.bytes_expected() : 0;
    nlohmann::ordered_json line;
    line["rank"] = measured.rank.value();
    line["members"] = measured.members;
    line["bytes"] = bytes;
    line["seconds"] = rounded(seconds);
    line["group_seconds"] = rounded(in_seconds(report.ran));
    line["held_at"] = held_at(report);
    line["goodput_mbps"] =
        seconds > 0 ? rounded(static_cast<double>(bytes) * 8 / 1e6 / seconds) : 0.0;
    line["bytes_saved"] = report.shortened.bytes - report.shortened.bytes_sent;
    if (report.outcome.rate_found_bytes_per_s > 0) {
        line["rate_found_mbps"] =
            rounded(static_cast<double>(report.outcome.rate_found_bytes_per_s) * 8 / 1e6);
    }
    if (holds && work.sink() != nullptr) {
        line["files"] = work.sink()->file_count();
    }
    if (const std::string remarks = work.remarks(); !remarks.empty()) {
        constexpr std::size_t kMaxRemarksBytes = 1024;
        line["remarks"] = remarks.substr(0, kMaxRemarksBytes);
    }
    line["bytes_read"] = work.bytes_read();
    line["bytes_here"] = work.sink() != nullptr ? work.sink()->bytes_filled() : 0;
    line["packets_sent"] = report.driver.packets_sent;
    line["packets_received"] = report.driver.packets_received;
    line["packets_lost"] = report.outcome.packets_lost;
    line["packets_repaired"] = report.outcome.packets_repaired;
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
    line["packets_rejected"] = report.refused.refused();
    line["packets_overflowed"] = report.driver.socket_overflow;
    if (!report.flow_packets.empty()) {
        line["flow_packets"] = report.flow_packets;
    }
    if (measured.rails > 1) {
        line["rails"] = measured.rails;
    }
    line["packet_payload"] = report.chunk_bytes;
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
