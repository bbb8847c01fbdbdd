#include "transport/core/feedback/report_board.h"

#include "transport/core/feedback/representatives.h"

#include <algorithm>
#include <limits>

namespace stage::core {

ReportBoard::ReportBoard(const CoreConfig& config, const FeedbackLimits& limits)
    : limits_{limits},
      window_blocks_{std::max(config.resident_blocks / 8U * limits.window_eighths, 2U)} {
    for (std::uint32_t i = 0; are_all_representatives(config, limits) && i < config.members;
         ++i) {
        if (const Rank rank{static_cast<std::uint16_t>(i)}; rank != config.source) {
            entries_.push_back({.rank = rank});
        }
    }
    is_followed_ = !entries_.empty();
}

ReportBoard::Entry* ReportBoard::find(Rank rank) {
    const auto entry = std::ranges::lower_bound(entries_, rank, {}, &Entry::rank);
    return entry != entries_.end() && entry->rank == rank ? &*entry : nullptr;
}

void ReportBoard::on_report(Instant now, Rank from, const wire::Report& report) {
    if (Entry* entry = find(from); entry != nullptr) {
        entry->held = std::max(entry->held, report.blocks_held);
        entry->is_new = false;
        look(now);
    }
}

void ReportBoard::look(Instant now) {
    std::vector<std::uint32_t> held;
    held.reserve(entries_.size());
    is_followed_ = false;
    for (const Entry& each : entries_) {
        if (each.before <= at_ && !each.is_away) {
            is_followed_ = true;
            if (!each.is_new) {
                held.push_back(each.held);
            }
        }
    }
    if (held.empty()) {
        return;
    }
    // Takes the upper one of an even number: a half that is behind must not hold up the other.
    const auto middle = held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2);
    std::nth_element(held.begin(), middle, held.end());
    if (*middle > median_held_) {
        median_held_ = *middle;
        extra_ = 0;
        moved_at_ = now;
    }
}

void ReportBoard::represent(Instant now, const std::vector<Rank>& ranks) {
    const bool is_first = entries_.empty();
    std::vector<Entry> entries;
    for (const Rank rank : ranks) {
        const Entry* const known = find(rank);
        entries.push_back(known != nullptr ? *known : Entry{.rank = rank, .is_new = !is_first});
    }
    entries_ = std::move(entries);
    look(now);
}

void ReportBoard::leave_out(Rank rank) {
    std::erase_if(entries_, [rank](const Entry& entry) { return entry.rank == rank; });
    is_followed_ = is_followed_ && present() > 0;
}

void ReportBoard::leave_out(const std::vector<wire::RankRun>& ranks) {
    std::erase_if(entries_, [&](const Entry& entry) {
        return std::ranges::any_of(ranks, [&](const wire::RankRun& run) {
            return entry.rank >= run.first && entry.rank <= run.last;
        });
    });
    is_followed_ = is_followed_ && present() > 0;
}

void ReportBoard::begin_with(Rank rank, std::uint32_t held) {
    if (Entry* entry = find(rank); entry != nullptr && held > entry->before) {
        entry->before = held;
        entry->held = std::max(entry->held, held);
        has_begun_apart_ = true;
    }
}

void ReportBoard::set_away(Instant now, Rank rank, bool is_away) {
    if (Entry* entry = find(rank); entry != nullptr) {
        entry->is_away = is_away;
        look(now);
    }
}

std::uint32_t ReportBoard::present() const {
    return static_cast<std::uint32_t>(std::ranges::count(entries_, false, &Entry::is_away));
}

std::uint32_t ReportBoard::window_below(Instant now, std::uint32_t at) {
    if (has_begun_apart_ && (at != at_ || at == 0)) {
        at_ = at;
        look(now);
    }
    if (!is_followed_) {
        return std::numeric_limits<std::uint32_t>::max();
    }
    if (!moved_at_) {
        moved_at_ = now;
    }
    if (now >= *moved_at_ + limits_.window_timeout) {
        ++extra_;  // reports are lost, or most are slow: go on, but slowly
        moved_at_ = now;
    }
    return median_held_ + window_blocks_ + extra_;
}

std::optional<Instant> ReportBoard::deadline(std::uint32_t block) const {
    const bool is_closed = is_followed_ && block >= median_held_ + window_blocks_ + extra_;
    return is_closed && moved_at_ ? std::optional{*moved_at_ + limits_.window_timeout}
                                  : std::nullopt;
}

}  // namespace stage::core
