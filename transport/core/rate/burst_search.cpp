#include "transport/core/rate/burst_search.h"

#include <algorithm>

namespace stage::core {

bool BurstSearch::poll(Instant now, RateBoard& board, Pacer& pacer) {
    if (next_at_ && now < *next_at_) {
        return false;
    }
    next_at_ = now + limits_.round;
    const auto loss_ppm = board.take_loss_ppm(now, limits_.packets_min);
    if (!loss_ppm) {
        return false;
    }
    if (is_stale_) {
        is_stale_ = false;
        return false;
    }
    const std::uint32_t burst_factor =
        next_burst_factor(pacer.burst_factor(), *loss_ppm, pacer.take_forgotten());
    if (burst_factor == pacer.burst_factor()) {
        return false;
    }
    pacer.set_burst_factor(now, burst_factor);
    is_stale_ = true;
    return true;
}

std::uint32_t BurstSearch::next_burst_factor(std::uint32_t burst_factor,
                                             std::uint32_t loss_ppm,
                                             bool has_forgotten) {
    const std::uint32_t usual = std::min(usual_ppm_.value_or(loss_ppm), loss_ppm);
    usual_ppm_ = usual + usual / 64 + 1;
    if (loss_ppm > 2 * usual + limits_.loss_new_ppm) {
        return std::max(burst_factor / 2, 1U);
    }
    const bool is_usual = loss_ppm <= usual + usual / 2 + limits_.loss_steady_ppm;
    return has_forgotten && is_usual ? std::min(burst_factor * 2, burst_factor_max_)
                                     : burst_factor;
}

}  // namespace stage::core
