// How far may the first pass run ahead of the receivers?
//
// The middle representative counts: so many blocks beyond what it holds. Nobody waits for the
// slowest, nor for who needs none of what comes next. (How fast the pass goes is rate_board.h's
// question.)
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

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
    /// These hold it, too, and report no more.
    void leave_out(const std::vector<wire::RankRun>& ranks);
    /// This one has the first `held` blocks already.
    void begin_with(Rank rank, std::uint32_t held);

    /// It left the group, or is back: likewise, until then.
    void set_away(Instant now, Rank rank, bool is_away);
    /// Representatives that are not away.
    [[nodiscard]] std::uint32_t present() const;

    /// Up to which block (exclusive) the first pass, which is at block `at`, may go now.
    [[nodiscard]] std::uint32_t window_below(Instant now, std::uint32_t at);
    /// The window is closed before `block`: when may it open by itself?
    [[nodiscard]] std::optional<Instant> deadline(std::uint32_t block) const;

  private:
    struct Entry {
        Rank rank;
        std::uint32_t held = 0;
        std::uint32_t before = 0;  ///< Of these.
        bool is_away = false;
    };

    [[nodiscard]] Entry* find(Rank rank);
    void look(Instant now);

    FeedbackLimits limits_;
    std::uint32_t window_blocks_;
    std::vector<Entry> entries_;
    std::uint32_t at_ = 0;
    bool has_begun_apart_ = false;  ///< Some held more than others when it began.
    bool is_followed_;              ///< Somebody needs what comes next.
    std::uint32_t median_held_ = 0;
    std::uint32_t extra_ = 0;  ///< Blocks let go though nobody moved.
    std::optional<Instant> moved_at_;
};

}  // namespace stage::core
