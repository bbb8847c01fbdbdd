#include "tests/sim/network/cubic_flow.h"

#include "transport/core/base/limits.h"

#include <algorithm>
#include <cmath>

namespace stage::sim {
namespace {

constexpr std::uint32_t kSegmentBytes = 1514;  ///< On the wire.
constexpr double kBeta = 0.7;
constexpr double kC = 0.4;
constexpr Duration kBinTime = milliseconds{50};
constexpr Duration kTimeOutMin = milliseconds{200};
constexpr unsigned kHyStartSamples = 8;

}  // namespace

CubicFlow::CubicFlow(const Plan& plan, const FlowPlan& own, Network& network, Events& events)
    : plan_{plan}, own_{own}, network_{network}, events_{events} {
    train_.body_bytes = kSegmentBytes - core::kWireOverheadBytes;
    train_.last_body_bytes = train_.body_bytes;
}

const Link& CubicFlow::watched() const {
    return own_.from ? network_.uplink(*own_.from) : network_.downlink(*own_.to);
}

void CubicFlow::start() {
    tick(0);
    events_.at<&CubicFlow::begin>(Instant{own_.begin}, *this);
}

void CubicFlow::tick(std::uint64_t) {
    bins_.push_back({.own = carried_, .all = watched().carried()});
    events_.at<&CubicFlow::tick>(events_.now() + kBinTime, *this);
}

CubicFlow::Shares CubicFlow::shares(Duration from, Duration below) const {
    const auto first = static_cast<std::size_t>(from / kBinTime);
    const auto last = std::min(static_cast<std::size_t>(below / kBinTime),
                               bins_.empty() ? 0 : bins_.size() - 1);
    if (first >= last) {
        return {};
    }
    const double room = watched().bytes_per_s() * static_cast<double>((last - first)) *
                        static_cast<double>(kBinTime.count()) / 1e9;
    const auto own = static_cast<double>(bins_[last].own - bins_[first].own);
    const auto all = static_cast<double>(bins_[last].all - bins_[first].all);
    return {.own = own / room, .others = (all - own) / room};
}

void CubicFlow::begin(std::uint64_t) {
    heard_at_ = events_.now();
    send();
    watch(0);
}

double CubicFlow::seconds_since(Instant then) const {
    return static_cast<double>((events_.now() - then).count()) / 1e9;
}

void CubicFlow::send() {
    while (events_.now() < Instant{own_.end} &&
           static_cast<double>(under_way_.size()) < std::max(window_, 1.0)) {
        const std::uint64_t number = next_++;
        under_way_.push_back({.number = number, .sent = events_.now()});
        Instant left = events_.now();
        PacketMask mask = 1;
        if (own_.from) {
            left = network_.carry_up(*own_.from, train_, mask);
            carried_ += mask != 0 ? kSegmentBytes : 0;
        }
        if (mask != 0) {
            events_.at<&CubicFlow::arrive_at_switch>(left + plan_.propagation, *this, number);
        }
    }
}

void CubicFlow::arrive_at_switch(std::uint64_t number) {
    Instant left = events_.now();
    PacketMask mask = 1;
    if (own_.to) {
        left = network_.carry_down(*own_.to, train_, mask);
        carried_ += mask != 0 && !own_.from ? kSegmentBytes : 0;
    }
    if (mask != 0) {
        events_.at<&CubicFlow::acknowledge>(left + 3 * plan_.propagation, *this, number);
    }
}

/// Nothing overtakes: what was sent before and was not heard of is lost.
void CubicFlow::acknowledge(std::uint64_t number) {
    heard_at_ = events_.now();
    while (!under_way_.empty() && under_way_.front().number < number) {
        on_loss(under_way_.front().number);
        under_way_.pop_front();
    }
    if (!under_way_.empty() && under_way_.front().number == number) {
        on_round_trip(events_.now() - under_way_.front().sent);
        under_way_.pop_front();
        grow();
    }
    send();
}

/// Nothing comes any more: all is lost, and it begins anew.
void CubicFlow::watch(std::uint64_t) {
    const Duration timeout = std::max(kTimeOutMin, 2 * trip_);
    if (!under_way_.empty() && events_.now() >= heard_at_ + timeout) {
        on_loss(under_way_.front().number);
        under_way_.clear();
        window_ = 1;
        heard_at_ = events_.now();
        send();
    }
    if (events_.now() < Instant{own_.end} || !under_way_.empty()) {
        events_.at<&CubicFlow::watch>(events_.now() + timeout / 4, *this);
    }
}

void CubicFlow::on_round_trip(Duration trip) {
    trip_ = trip_ == Duration{} ? trip : trip_ + (trip - trip_) / 8;
    trip_least_ = trip_least_ == Duration{} ? trip : std::min(trip_least_, trip);
    if (under_way_.front().number >= round_below_) {
        round_below_ = next_;
        round_least_ = trip;
        round_samples_ = 0;
    }
    round_least_ = std::min(round_least_, trip);
    const Duration margin =
        std::clamp<Duration>(trip_least_ / 8, milliseconds{4}, milliseconds{16});
    if (++round_samples_ >= kHyStartSamples && window_ < threshold_ && window_ >= 16 &&
        round_least_ > trip_least_ + margin) {
        threshold_ = window_;
    }
}

void CubicFlow::on_loss(std::uint64_t number) {
    if (number < recover_below_) {
        return;
    }
    recover_below_ = next_;
    most_ = window_ < most_ ? window_ * (1 + kBeta) / 2 : window_;
    window_ = std::max(window_ * kBeta, 2.0);
    threshold_ = window_;
    has_epoch_ = false;
}

/// By one acknowledged segment.
void CubicFlow::grow() {
    if (window_ < threshold_) {
        window_ += 1;
        return;
    }
    if (!has_epoch_) {
        has_epoch_ = true;
        epoch_ = events_.now();
        began_with_ = window_;
        reno_ = window_;
        most_ = std::max(most_, window_);
    }
    const double k = std::cbrt((most_ - began_with_) / kC);
    const double since = seconds_since(epoch_) + static_cast<double>(trip_.count()) / 1e9 - k;
    const double target =
        std::clamp(kC * since * since * since + most_, window_, 1.5 * window_);
    reno_ += 3 * (1 - kBeta) / (1 + kBeta) / window_;
    window_ = std::max(window_ + (target - window_) / window_, reno_);
}

}  // namespace stage::sim
