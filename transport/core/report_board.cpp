#include "transport/core/report_board.h"

#include "transport/core/reporter.h"

#include <algorithm>
#include <limits>

namespace stage::core {

ReportBoard::ReportBoard(const CoreConfig& config, const FeedbackLimits& limits)
    : limits_{limits},
      window_blocks_{std::max(config.resident_blocks / 8U * limits.window_eighths, 2U)} {
    for (std::uint32_t rank = 0; rank < config.members; ++rank) {
        const Rank each{static_cast<std::uint16_t>(rank)};
        if (is_representative(config, limits.representatives, each)) {
            entries_.push_back({.rank = each});
        }
    }
}

void ReportBoard::on_report(Instant now, Rank from, const wire::Report& report) {
    const auto entry = std::ranges::lower_bound(entries_, from, {}, &Entry::rank);
    if (entry == entries_.end() || entry->rank != from) {
        return;
    }
    entry->held = std::max(entry->held, report.blocks_held);
    std::vector<std::uint32_t> held;
    held.reserve(entries_.size());
    for (const Entry& each : entries_) {
        held.push_back(each.held);
    }
    // Of an even number the upper one: a half that is behind must not hold up the other half.
    const auto middle = held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2);
    std::nth_element(held.begin(), middle, held.end());
    if (*middle > median_held_) {
        median_held_ = *middle;
        extra_ = 0;
        moved_at_ = now;
    }
}

void ReportBoard::leave_out(Rank rank) {
    std::erase_if(entries_, [rank](const Entry& entry) { return entry.rank == rank; });
}

std::uint32_t ReportBoard::window_below(Instant now) {
    if (entries_.empty()) {
        return std::numeric_limits<std::uint32_t>::max();
    }
    if (!moved_at_) {
        moved_at_ = now;
    }
    if (now >= *moved_at_ + limits_.window_patience) {
        ++extra_;  // reports are lost, or most are slow: go on, but slowly
        moved_at_ = now;
    }
    return median_held_ + window_blocks_ + extra_;
}

std::optional<Instant> ReportBoard::deadline(std::uint32_t block) const {
    const bool is_closed = !entries_.empty() && block >= median_held_ + window_blocks_ + extra_;
    return is_closed && moved_at_ ? std::optional{*moved_at_ + limits_.window_patience}
                                  : std::nullopt;
}

}  // namespace stage::core
