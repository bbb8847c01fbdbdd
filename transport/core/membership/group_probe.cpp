#include "transport/core/membership/group_probe.h"

#include <algorithm>

namespace stage::core {

GroupProbe::GroupProbe(const CoreConfig& config, const EndingLimits& limits)
    : wait_min_{config.unreached_policy == UnreachedPolicy::fail ? limits.unreached_after_forced
                                                                 : limits.unreached_after},
      offers_min_{limits.unreached_offers},
      calls_(config.unreached_policy != UnreachedPolicy::fetch &&
                     config.chunk_bytes_fallback == 0
                 ? config.members
                 : 0U) {
}

void GroupProbe::on_offer(Instant now) {
    if (!calls_.empty()) {
        offers_.push_back(now);
    }
}

/// A source that is late itself reads solicitations that arrived before its OFFERs left.
bool GroupProbe::have_left(std::ptrdiff_t offers, Instant after, Instant until) const {
    return std::ranges::upper_bound(offers_, until) -
               std::ranges::upper_bound(offers_, after) >=
           offers;
}

void GroupProbe::on_call(Instant arrived, Rank from) {
    if (from.index() >= calls_.size()) {
        return;
    }
    const Instant first = calls_[from.index()].value_or(arrived);
    calls_[from.index()] = std::min(first, arrived);
    if (arrived >= first + wait_min_ && have_left(offers_min_, first, arrived)) {
        on_unreachable(from);
    }
}

void GroupProbe::on_unreachable(Rank from) {
    const auto at = std::ranges::lower_bound(unreached_, from);
    if (from.index() < calls_.size() && (at == unreached_.end() || *at != from)) {
        unreached_.insert(at, from);
    }
}

void GroupProbe::on_heard(Rank from) {
    std::erase(unreached_, from);
}

bool GroupProbe::is_complete(const RankSet& ready) const {
    const auto unanswered =
        std::ranges::count_if(unreached_, [&](Rank rank) { return !ready.has(rank); });
    return !unreached_.empty() &&
           ready.count() + static_cast<std::size_t>(unanswered) == ready.members();
}

}  // namespace stage::core
