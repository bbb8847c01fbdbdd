// How fast, where no rate was told, and how much at once?
//
// Doubling while nothing more is lost than chance loses. When more is lost, the rate is halved
// for a moment, as a test: if half as much then arrives, the loss does not come from the rate,
// and it is taken back; if as much arrives as before, that is what the path carries.
// Provisional: no queue is measured, and a flow beside this one gets less than its share
// (docs/PROTOCOL.md, "Rate").
#pragma once

#include "transport/core/limits.h"
#include "transport/core/pacer.h"
#include "transport/core/report_board.h"

#include <cstdint>
#include <optional>

namespace stage::core {

/// How much may leave at once? A source that wakes late would lose what it is owed meanwhile,
/// and the rate with it; but a burst longer than the buffers on the way is lost. So credit may
/// grow older while that costs no packets, as the representatives' reports say.
class BurstSearch {
  public:
    BurstSearch(const RateLimits& limits, std::uint32_t stretch_max)
        : limits_{limits}, stretch_max_{stretch_max} {}

    /// The stretch that follows from one round's loss, and whether credit was forgotten in it.
    [[nodiscard]] std::uint32_t next_stretch(std::uint32_t stretch,
                                             std::uint32_t loss_ppm,
                                             bool has_forgotten);

  private:
    RateLimits limits_;
    std::uint32_t stretch_max_;
    std::optional<std::uint32_t> usual_ppm_;  ///< The least loss seen, rising slowly.
};

class RateSearch {
  public:
    RateSearch(const Limits& limits, bool is_told)
        : limits_{limits.rate},
          is_told_{is_told},
          bursts_{limits.rate, limits.pacer.stretch_max} {}

    /// Looks at what the representatives lost, now and then, and sets the pacer.
    void poll(Instant now, ReportBoard& board, Pacer& pacer);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }

    /// The rate that follows from one round's loss, in a million packets.
    [[nodiscard]] std::uint64_t next_rate(std::uint64_t rate, std::uint32_t loss_ppm);

  private:
    struct Test {
        std::uint64_t rate = 0;      ///< Before it.
        std::uint32_t loss_ppm = 0;  ///< At that rate.
    };

    RateLimits limits_;
    bool is_told_;
    BurstSearch bursts_;
    bool is_doubling_ = true;
    bool is_stale_ = false;  ///< The next reports are still of the rate before.
    std::uint32_t random_ppm_ = 0;
    std::optional<Test> test_;
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
