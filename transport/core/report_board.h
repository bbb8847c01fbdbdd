// How are the receivers doing, as their representatives say?
//
// The middle one counts: how many blocks it holds says how far the first pass may run ahead,
// what it loses says how fast it may go where no rate was told. Nobody waits for the slowest.
#pragma once

#include "transport/core/contract.h"
#include "transport/core/limits.h"

#include <optional>
#include <vector>

namespace stage::core {

class ReportBoard {
  public:
    ReportBoard(const CoreConfig& config, const FeedbackLimits& limits);

    /// Reports of others than representatives count for nothing here.
    void on_report(Instant now, Rank from, const wire::Report& report);

    /// Up to which block (exclusive) the first pass may go now.
    [[nodiscard]] std::uint32_t window_below(Instant now);
    /// The window is closed before `block`: when may it open by itself?
    [[nodiscard]] std::optional<Instant> deadline(std::uint32_t block) const;

    /// Lost packets in a million, of the median representative, since the last take; nothing
    /// before half of them have reported on `packets_min` packets, 1 or more.
    [[nodiscard]] std::optional<std::uint32_t> take_loss_ppm(std::uint32_t packets_min);

  private:
    struct Entry {
        Rank rank;
        std::uint32_t held = 0;
        std::uint64_t received = 0;
        std::uint64_t lost = 0;
    };

    FeedbackLimits limits_;
    std::uint32_t window_blocks_;
    std::vector<Entry> entries_;
    std::uint32_t median_held_ = 0;
    std::uint32_t extra_ = 0;  ///< Blocks let go though nobody moved.
    std::optional<Instant> moved_at_;
};

}  // namespace stage::core
