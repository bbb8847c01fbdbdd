#include "transport/core/rate_search.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

/// What arrives of `rate`.
std::uint64_t delivered(std::uint64_t rate, std::uint32_t loss_ppm) {
    return rate / kMillion * (kMillion - std::min<std::uint64_t>(loss_ppm, kMillion));
}

}  // namespace

void RateSearch::poll(Instant now, ReportBoard& board, Pacer& pacer) {
    if (next_at_ && now < *next_at_) {
        return;
    }
    next_at_ = now + limits_.round;
    const auto loss_ppm = board.take_loss_ppm(limits_.packets_min);
    if (!loss_ppm) {
        return;
    }
    if (is_stale_) {
        is_stale_ = false;
        return;
    }
    const std::uint32_t stretch =
        bursts_.next_stretch(pacer.stretch(), *loss_ppm, pacer.take_forgotten());
    if (stretch != pacer.stretch()) {
        pacer.set_stretch(now, stretch);
        is_stale_ = true;
        return;  // one thing at a time, or nobody knows which it was
    }
    if (is_told_) {
        return;
    }
    const std::uint64_t before = pacer.rate_bytes_per_s();
    const std::uint64_t rate = std::clamp(
        next_rate(before, *loss_ppm), limits_.least_bytes_per_s, limits_.most_bytes_per_s);
    is_stale_ = rate != before;
    pacer.set_rate(now, rate);
}

std::uint32_t BurstSearch::next_stretch(std::uint32_t stretch,
                                        std::uint32_t loss_ppm,
                                        bool has_forgotten) {
    const std::uint32_t usual = std::min(usual_ppm_.value_or(loss_ppm), loss_ppm);
    usual_ppm_ = usual + usual / 64 + 1;
    if (loss_ppm > 2 * usual + limits_.loss_new_ppm) {
        return std::max(stretch / 2, 1U);
    }
    const bool is_usual = loss_ppm <= usual + usual / 2 + limits_.loss_steady_ppm;
    return has_forgotten && is_usual ? std::min(stretch * 2, stretch_max_) : stretch;
}

std::uint64_t RateSearch::next_rate(std::uint64_t rate, std::uint32_t loss_ppm) {
    if (test_) {
        const Test test = *test_;
        test_.reset();
        const std::uint64_t now = delivered(rate, loss_ppm);
        if (now < delivered(test.rate, test.loss_ppm) / 4 * 3) {
            random_ppm_ = test.loss_ppm;
            return test.rate;
        }
        is_doubling_ = false;
        return now / 20 * 19;
    }
    if (loss_ppm > random_ppm_ + limits_.loss_new_ppm) {
        test_ = Test{.rate = rate, .loss_ppm = loss_ppm};
        return rate / 2;
    }
    return is_doubling_ ? rate * 2 : rate + rate / 20;
}

}  // namespace stage::core
