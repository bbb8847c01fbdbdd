// How far may the first pass run ahead of the receivers?
//
// The middle representative counts: so many blocks beyond what it holds. Nobody waits for the
// slowest. (How fast the pass goes is rate_board.h's question.)
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

    /// This member needs nothing: nobody waits for it.
    void leave_out(Rank rank);

    /// Up to which block (exclusive) the first pass may go now.
    [[nodiscard]] std::uint32_t window_below(Instant now);
    /// The window is closed before `block`: when may it open by itself?
    [[nodiscard]] std::optional<Instant> deadline(std::uint32_t block) const;

  private:
    struct Entry {
        Rank rank;
        std::uint32_t held = 0;
    };

    FeedbackLimits limits_;
    std::uint32_t window_blocks_;
    std::vector<Entry> entries_;
    std::uint32_t median_held_ = 0;
    std::uint32_t extra_ = 0;  ///< Blocks let go though nobody moved.
    std::optional<Instant> moved_at_;
};

}  // namespace stage::core
