// Searches for the burst size: the factor by which the token bucket's bounds grow.
//
// A source that wakes late would lose the tokens of that time, and with them its rate. But a
// burst longer than the buffers on the path is lost. So tokens may become older as long as the
// representatives' reports show that this loses no packets.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/sending/pacer.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class BurstSearch {
  public:
    BurstSearch(const RateLimits& limits, std::uint32_t burst_factor_max)
        : limits_{limits}, burst_factor_max_{burst_factor_max} {}

    /// Evaluates the loss from time to time. True if the burst factor changed.
    bool poll(Instant now, RateBoard& board, Pacer& pacer);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }

    /// The burst factor that follows from one round's loss, and from whether tokens were
    /// discarded in it.
    [[nodiscard]] std::uint32_t next_burst_factor(std::uint32_t burst_factor,
                                                  std::uint32_t loss_ppm,
                                                  bool has_forgotten);

  private:
    RateLimits limits_;
    std::uint32_t burst_factor_max_;
    std::optional<std::uint32_t> usual_ppm_;  ///< The least loss seen, rising slowly.
    /// The next reports are about the time before the last change.
    bool is_stale_ = false;
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
