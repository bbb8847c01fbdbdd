#include "transport/core/rate/loss_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stage::core {
namespace {

/// Packets of a decision: 5 % loss is seen as 5 +- 2 %.
constexpr double kPacketsMin = 128;
/// Share of the packets, and standard deviations of it. Less loss above the random loss is not
/// worth a test, which costs 15 % of the rate for a moment.
constexpr double kMargin = 0.02;
constexpr double kDeviations = 3;
/// Share of the packets: the random loss that the deviation is computed for, at least.
constexpr double kSpreadLossMin = 0.001;
/// Samples in which the random loss forgets a loss that went.
constexpr double kForgetting = 4;
/// Share of the former loss: if more remains, the loss is random.
constexpr double kRandomShare = 0.6;
/// On an overloaded path this share of the packets was lost before, and this share of the
/// former arrivals still arrives. With random loss fewer arrive when fewer are sent.
constexpr double kOverloadLoss = 0.25;
constexpr double kOverloadArrivals = 0.93;
/// The time without a further test after one that found congestion, for each unit of the
/// backoff, and the largest backoff.
constexpr Duration kPause = std::chrono::milliseconds{5};
constexpr unsigned kBackoffMax = 64;

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
    const double spread = std::sqrt(std::max(random_loss_, kSpreadLossMin) / packets_);
    if (loss <= random_loss_ + kMargin + kDeviations * spread) {
        random_loss_ =
            std::min(random_loss_, random_loss_ + (loss - random_loss_) / kForgetting);
        forget();
        return Answer::none;
    }
    if (now < next_test_at_) {
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
    if (before > kOverloadLoss && sample.delivered > kOverloadArrivals * delivered_before_) {
        return Answer::overload;
    }
    if (loss > kRandomShare * before) {
        random_loss_ = loss;
        return Answer::random;
    }
    next_test_at_ = now + kPause * backoff_;
    backoff_ = std::min(backoff_ * 2, kBackoffMax);
    return Answer::congestion;
}

}  // namespace stage::core
