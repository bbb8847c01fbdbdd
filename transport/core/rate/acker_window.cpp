#include "transport/core/rate/acker_window.h"

#include <algorithm>
#include <cmath>

namespace stage::core {
namespace {

constexpr std::size_t kSendsRemembered = 8192;
/// A report acknowledges at least eight packets: with fewer in flight there would be no report.
constexpr double kWindowMin = 16;
/// pgmcc and the paper begin with a static threshold of 6 or 8 packets; TCP's moves.
constexpr double kThresholdFirst = 64;
/// Another receiver becomes the acker if the equation gives it this part of the rate or less.
constexpr double kTakesOver = 0.75;
constexpr double kLossShare = 0.125;  ///< Weight of a report's loss in the smoothed loss.
constexpr double kTimeShare = 0.125;  ///< Weight of a report's RTT in the smoothed RTT.
constexpr double kLossLeast = 1e-4;   ///< The equation has no rate without loss.
/// Reports become rarer while a stream grows longer: an acknowledgement may take this number of
/// RTTs and the report interval.
constexpr double kUnderWay = 2;
constexpr double kReportAge = 25e-3;

double seconds_of(Duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

AckerWindow::AckerWindow(const CoreConfig& config, const Limits& limits)
    : limits_{limits.rate},
      silence_{limits.feedback.silence},
      packet_bytes_{static_cast<double>(config.chunk_bytes + kWireOverheadBytes)},
      most_{static_cast<double>(config.rate_max_bytes_per_s > 0
                                    ? config.rate_max_bytes_per_s
                                    : limits.rate.most_bytes_per_s)},
      log_{kSendsRemembered, config.chunk_bytes + kWireOverheadBytes},
      window_{kWindowMin},
      threshold_{kThresholdFirst} {
}

void AckerWindow::on_sends(Instant now, std::span<const Send> sends) {
    for (const Send& send : sends) {
        log_.on_send(now, send, static_cast<std::uint64_t>(std::max(rate(), 1.0)));
    }
}

void AckerWindow::on_report(Instant now, Rank from, const wire::Report& report) {
    const auto departure = log_.departure(report.mark);
    if (report.mark == 0 || !departure) {
        return;
    }
    auto [at, is_new] = receivers_.try_emplace(from);
    Receiver& receiver = at->second;
    if (!is_new && report.mark <= receiver.mark) {
        return;
    }
    const Duration hold = std::chrono::microseconds{report.hold_us};
    const double round_trip = std::max(seconds_of(now - departure->sent - hold), 1e-6);
    double loss = 0;
    if (report.span > 0 && report.mark >= report.span) {
        const auto sent = log_.span(report.mark - report.span, report.mark);
        const double packets = sent ? sent->packets : 0;
        loss = packets > 0 ? std::max(1 - report.received / packets, 0.0) : 0;
    }
    receiver.round_trip += (is_new ? 1 : kTimeShare) * (round_trip - receiver.round_trip);
    receiver.loss += kLossShare * (loss - receiver.loss);
    receiver.mark = report.mark;
    receiver.reported_at = now;
    choose(now, from);
    if (acker_ == from) {
        round_trip_ = receiver.round_trip;
        acked_at_ = now;
        acknowledge(report.mark, loss > 0);
    }
}

/// The reciprocal of the rate that the equation gives it.
double AckerWindow::slowness(const Receiver& receiver) const {
    return receiver.round_trip * std::sqrt(std::max(receiver.loss, kLossLeast));
}

void AckerWindow::choose(Instant now, Rank from) {
    const auto current = acker_ ? receivers_.find(*acker_) : receivers_.end();
    const bool is_gone =
        current == receivers_.end() || now > current->second.reported_at + silence_;
    if (is_gone || slowness(current->second) < kTakesOver * slowness(receivers_.at(from))) {
        acker_ = from;
    }
}

void AckerWindow::acknowledge(std::uint64_t mark, bool has_lost) {
    if (mark <= acked_) {
        return;
    }
    const auto acks = static_cast<double>(mark - acked_);
    acked_ = mark;
    if (has_lost && mark > halved_at_) {
        window_ = std::max(window_ / 2, kWindowMin);
        threshold_ = window_;
        halved_at_ = log_.next();
        return;
    }
    if (window_ < threshold_) {
        window_ = std::min(window_ + acks, std::max(threshold_, window_));
    } else {
        window_ += acks / window_;
    }
    const double most = most_ * std::max(round_trip_, 1e-5) / packet_bytes_;
    window_ = std::clamp(window_, kWindowMin, std::max(most, kWindowMin));
}

double AckerWindow::rate() const {
    if (round_trip_ <= 0) {
        return std::min(static_cast<double>(limits_.start_bytes_per_s), most_);
    }
    return std::clamp(window_ * packet_bytes_ / round_trip_,
                      std::min(static_cast<double>(limits_.least_bytes_per_s), most_),
                      most_);
}

void AckerWindow::poll(Instant now, Pacer& pacer, bool has_data) {
    if (!is_begun_) {
        if (!has_data) {
            return;
        }
        is_begun_ = true;
        acked_at_ = now;
        acked_ = log_.next() - 1;
    }
    if (now > acked_at_ + silence_) {
        // The acker is silent: its window becomes the smallest, and the next receiver that
        // reports replaces it.
        window_ = kWindowMin;
        acked_ = log_.next() - 1;
        acked_at_ = now;
        acker_.reset();
    }
    const auto wanted = static_cast<std::uint64_t>(rate());
    if (wanted != pacer.rate_bytes_per_s()) {
        pacer.set_rate(now, wanted);
    }
}

bool AckerWindow::may_send() const {
    const double reported_late = rate() * kReportAge / packet_bytes_;
    const double under_way =
        static_cast<double>(log_.next()) - static_cast<double>(std::min(acked_, log_.next()));
    return !is_begun_ || under_way < kUnderWay * window_ + reported_late;
}

std::optional<Instant> AckerWindow::deadline() const {
    return is_begun_ ? std::optional{acked_at_ + silence_ + Duration{1}} : std::nullopt;
}

std::uint64_t AckerWindow::capacity() const {
    return round_trip_ > 0 ? static_cast<std::uint64_t>(rate()) : 0;
}

}  // namespace stage::core
