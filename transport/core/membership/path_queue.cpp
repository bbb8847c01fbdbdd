#include "transport/core/membership/path_queue.h"

#include <algorithm>

namespace stage::core {
namespace {

/// Clocks drift apart: the least delay seen is believed a little less every second.
constexpr std::int64_t kDriftPpm = 20;
/// After this number of windows, or PULSE intervals, without a PULSE the queue is unknown.
constexpr int kSilentWindows = 5;

}  // namespace

void PathQueue::on_pulse(Duration sent,
                         Instant arrived,
                         std::uint32_t packets,
                         Duration others) {
    const Duration passed = arrived - last_;
    const Duration silence = kSilentWindows * std::max(limits_.queue_window, every_);
    if (passed > silence || -passed > limits_.queue_window) {
        forget();  // a long silence, or a clock that leapt back
    } else if (passed < Duration::zero()) {
        return;  // it was overtaken
    }
    measure(sent, arrived);
    measure_packets(sent, packets);
    last_ = arrived;
    if (window_since_ && arrived - *window_since_ >= limits_.queue_window) {
        judge();
        window_since_.reset();
    }
    if (!window_since_) {
        window_since_ = arrived;
        window_least_ = newest_;
        window_others_ = others;
    }
    window_least_ = std::min(window_least_, newest_);
    window_others_ = std::max(window_others_, others);
}

void PathQueue::measure(Duration sent, Instant arrived) {
    const Duration delay = arrived.time_since_epoch() - sent;
    if (least_delay_) {
        *least_delay_ += std::max(sent - sent_, Duration::zero()) / 1'000'000 * kDriftPpm;
    }
    sent_ = sent;
    // A leap of a clock is no queue: what was seen before means nothing any more.
    if (!least_delay_ || delay < *least_delay_ || delay - *least_delay_ > limits_.queue_most) {
        least_delay_ = delay;
    }
    newest_ = delay - *least_delay_;
}

void PathQueue::measure_packets(Duration sent, std::uint32_t packets) {
    const Duration passed = sent - pace_since_;
    if (passed >= Duration::zero() && passed < limits_.queue_window) {
        return;
    }
    // (A source's clock may be set.)
    packet_time_ = std::clamp<Duration>(
        passed / std::max(packets - pace_packets_, 1U), Duration::zero(), limits_.queue_most);
    pace_since_ = sent;
    pace_packets_ = packets;
}

Duration PathQueue::noise() const {
    return std::max<Duration>(limits_.queue_least, packet_time_ * limits_.queue_packets);
}

void PathQueue::judge() {
    if (window_least_ >= noise()) {
        free_since_.reset();
    } else if (!free_since_) {
        free_since_ = window_since_;
    }
    if (window_least_ < noise() || window_others_ > window_least_ / 2) {
        since_.reset();
        return;
    }
    least_standing_ = window_least_;
    fastest_ = since_ ? std::min(fastest_, packet_time_) : packet_time_;
    since_ = since_ ? since_ : window_since_;
}

}  // namespace stage::core
