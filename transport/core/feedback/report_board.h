// Limits how far the first pass runs ahead of the receivers: the send window.
//
// The window is counted from the median representative. The source does not wait for the
// slowest receiver, nor for one that needs nothing of what comes next. The speed of the pass is
// set by rate_board.h.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

#include <optional>
#include <vector>

namespace stage::core {

class ReportBoard {
  public:
    ReportBoard(const CoreConfig& config, const FeedbackLimits& limits);

    /// In a small group all receivers are representatives; in a larger one none is at first.
    /// Reports of other members are ignored.
    void on_report(Instant now, Rank from, const wire::Report& report);

    /// The source drew other representatives. A new one counts from its first report on.
    void represent(Instant now, const std::vector<Rank>& ranks);

    /// The member needs nothing, so the window ignores it.
    void leave_out(Rank rank);
    /// The members hold the object and report no more: the window ignores them.
    void leave_out(const std::vector<wire::RankRun>& ranks);
    /// The member had the first `held` blocks before the broadcast.
    void begin_with(Rank rank, std::uint32_t held);

    /// Multicast does not reach the member, which is ignored until it does.
    void set_away(Instant now, Rank rank, bool is_away);
    /// Representatives that are in the group.
    [[nodiscard]] std::uint32_t present() const;

    /// The block before which the first pass, now at block `at`, must stop.
    [[nodiscard]] std::uint32_t window_below(Instant now, std::uint32_t at);
    /// The window is closed before `block`: when it opens by itself.
    [[nodiscard]] std::optional<Instant> deadline(std::uint32_t block) const;

  private:
    struct Entry {
        Rank rank;
        std::uint32_t held = 0;
        std::uint32_t before = 0;  ///< The first blocks, held before the broadcast.
        bool is_away = false;
        bool is_new = false;
    };

    [[nodiscard]] Entry* find(Rank rank);
    void look(Instant now);

    FeedbackLimits limits_;
    std::uint32_t window_blocks_;
    std::vector<Entry> entries_;
    std::uint32_t at_ = 0;
    bool has_begun_apart_ = false;  ///< Some held more than others when it began.
    bool is_followed_;              ///< A representative needs what comes next.
    std::uint32_t median_held_ = 0;
    /// Blocks that were let go although no representative made progress.
    std::uint32_t extra_ = 0;
    std::optional<Instant> moved_at_;
};

}  // namespace stage::core
