// How fast, where no rate was told?
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

class RateSearch {
  public:
    explicit RateSearch(const RateLimits& limits) : limits_{limits} {}

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
    bool is_doubling_ = true;
    bool is_stale_ = false;  ///< The next reports are still of the rate before.
    std::uint32_t random_ppm_ = 0;
    std::optional<Test> test_;
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
