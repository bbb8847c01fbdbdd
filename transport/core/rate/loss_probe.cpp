#include "transport/core/rate/loss_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stage::core {
namespace {

constexpr double kPacketsMin = 128;  ///< 5 % loss is seen as 5 +- 2 %.
constexpr double kMargin = 0.02;     ///< Less is not worth a test: it costs 15 % for a moment.
/// A share of the former loss: if as much remains, the loss is random.
constexpr double kStays = 0.6;
/// With random loss fewer packets arrive when fewer are sent. On an overloaded path as many
/// arrive as before.
constexpr double kMuch = 0.25;
constexpr double kAsMuch = 0.93;
constexpr unsigned kBackoffMax = 64;
constexpr Duration kQuiet = std::chrono::milliseconds{5};

}  // namespace

void LossProbe::forget() {
    packets_ = 0;
    lost_ = 0;
}

LossProbe::Answer LossProbe::on_sample(Instant now, const RateSample& sample, bool has_queue) {
    if (has_queue && !before_) {
        forget();
        return Answer::none;
    }
    packets_ += sample.packets;
    lost_ += sample.loss * sample.packets;
    if (packets_ < kPacketsMin) {
        return Answer::none;
    }
    if (before_) {
        return judge(now, sample);
    }
    const double loss = lost_ / packets_;
    const double spread = std::sqrt(std::max(chance_, 0.001) / packets_);
    if (loss <= chance_ + kMargin + 3 * spread) {
        chance_ = std::min(chance_, chance_ + (loss - chance_) / 4);
        forget();
        return Answer::none;
    }
    if (now < quiet_until_) {
        return Answer::none;
    }
    before_ = loss;
    delivered_before_ = sample.delivered;
    forget();
    return Answer::slower;
}

LossProbe::Answer LossProbe::judge(Instant now, const RateSample& sample) {
    const double loss = lost_ / packets_;
    const double before = *before_;
    before_.reset();
    forget();
    if (before > kMuch && sample.delivered > kAsMuch * delivered_before_) {
        return Answer::overload;
    }
    if (loss > kStays * before) {
        chance_ = loss;
        return Answer::chance;
    }
    quiet_until_ = now + kQuiet * backoff_;
    backoff_ = std::min(backoff_ * 2, kBackoffMax);
    return Answer::congestion;
}

}  // namespace stage::core
