#include "transport/core/feedback/arrival_log.h"

#include "transport/core/base/limits.h"

#include <algorithm>
#include <chrono>

namespace stage::core {
namespace {

constexpr Duration kDrainWindow = std::chrono::milliseconds{20};
/// With fewer packets the arrival rate would be that of a single burst.
constexpr std::uint32_t kRatePacketsMin = 64;
constexpr Duration kRateTimeMin = std::chrono::microseconds{100};
/// A stream that stands still for this time has nothing that it may send.
constexpr Duration kPause = RepairLimits{}.stream_pause;
/// Measurements with the pause, and with the packets after it, which pass the token bucket of a
/// shaper at once.
constexpr std::uint32_t kUnsteady = 2;
constexpr std::uint64_t kMost = 0xffffffffU;

std::uint32_t per_second(std::uint64_t count, Duration time) {
    const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(time.count(), 1));
    return static_cast<std::uint32_t>(std::min(count * 1'000'000'000 / ns, kMost));
}

std::uint32_t smoothed(std::uint32_t before, std::uint32_t now) {
    return before == 0 ? now : before - before / 4 + now / 4;
}

}  // namespace

void ArrivalLog::on_packet(Instant now, const Datagram& datagram) {
    const Mark here{.number = datagram.header.packet_number, .at = datagram.arrived_at};
    notice_pause(datagram);
    if (mark_.number == 0) {
        base_ = mark_ = here;
        last_at_ = here.at;
        drained_since_ = now;
    } else if (here.number > mark_.number && here.at > last_at_) {
        mark_ = here;
        before_mark_ = since_base_;
        measure_rate(here);
    }
    ++since_pace_;
    last_at_ = std::max(last_at_, here.at);
    ++since_base_;
    ++heard_;
    ++heard_ever_;
    ++drained_;
    overflow_ = std::max(overflow_, datagram.overflow);
    fill_ = datagram.fill;
    measure_drain(now);
}

/// By whole windows of packets, so that no burst or pause is taken for the rate.
void ArrivalLog::measure_rate(const Mark& here) {
    if (pace_.number == 0) {
        pace_ = here;
        since_pace_ = 0;
    }
    if (since_pace_ < kRatePacketsMin || here.at - pace_.at < kRateTimeMin) {
        return;
    }
    const std::uint32_t now = per_second(since_pace_, here.at - pace_.at);
    packets_per_s_ = smoothed(packets_per_s_, now);
    if (unsteady_ == 0) {
        steady_packets_per_s_ = smoothed(steady_packets_per_s_, now);
    } else {
        --unsteady_;
    }
    pace_ = here;
    since_pace_ = 0;
}

/// Notices a pause of the first pass: meanwhile signs of life and repeats arrive.
void ArrivalLog::notice_pause(const Datagram& datagram) {
    if (first_pass_at_ && datagram.arrived_at - *first_pass_at_ >= kPause) {
        unsteady_ = kUnsteady;
    }
    if (datagram.header.is_data() && (datagram.header.flags & wire::kFlagRepeat) == 0) {
        first_pass_at_ = datagram.arrived_at;
    }
}

void ArrivalLog::measure_drain(Instant now) {
    if (now - *drained_since_ >= kDrainWindow) {
        drain_ = per_second(drained_, now - *drained_since_);
        drained_ = 0;
        drained_since_ = now;
    }
}

void ArrivalLog::take(Instant now, wire::Report& report) {
    const Duration time = mark_.at - base_.at;
    report.mark = mark_.number;
    report.mark_at_ns = static_cast<std::uint64_t>(mark_.at.time_since_epoch().count());
    report.span = static_cast<std::uint32_t>(std::min(mark_.number - base_.number, kMost));
    report.span_ns = static_cast<std::uint32_t>(
        std::clamp<Duration::rep>(time.count(), 0, static_cast<Duration::rep>(kMost)));
    report.received = before_mark_;
    report.drain = drain_;
    report.overflow = overflow_ - overflow_reported_;
    report.fill = fill_;
    report.hold_us = static_cast<std::uint32_t>(std::clamp<Duration::rep>(
        (now - mark_.at).count() / 1000, 0, static_cast<Duration::rep>(kMost)));
    report.heard = heard_;
    base_ = mark_;
    since_base_ -= before_mark_;
    before_mark_ = 0;
    overflow_reported_ = overflow_;
    heard_ = 0;
}

}  // namespace stage::core
