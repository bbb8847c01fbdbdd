// How much may leave at once?
//
// A source that wakes late would lose what it is owed meanwhile, and the rate with it; but a
// burst longer than the buffers on the way is lost. So credit may grow older while that costs
// no packets, as the representatives' reports say.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/sending/pacer.h"

#include <cstdint>
#include <optional>

namespace stage::core {

class BurstSearch {
  public:
    BurstSearch(const RateLimits& limits, std::uint32_t stretch_max)
        : limits_{limits}, stretch_max_{stretch_max} {}

    /// Looks at what was lost, now and then. True if the bursts became longer or shorter.
    bool poll(Instant now, RateBoard& board, Pacer& pacer);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }

    /// The stretch that follows from one round's loss, and whether credit was forgotten in it.
    [[nodiscard]] std::uint32_t next_stretch(std::uint32_t stretch,
                                             std::uint32_t loss_ppm,
                                             bool has_forgotten);

  private:
    RateLimits limits_;
    std::uint32_t stretch_max_;
    std::optional<std::uint32_t> usual_ppm_;  ///< The least loss seen, rising slowly.
    bool is_stale_ = false;                   ///< The next reports are of what was before.
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
