// Decides when the broadcast is over and whether it succeeded.
//
// This is the one place that says what a failed member means for the group: one failed member
// fails all, because a job needs the file on each of its nodes.
#pragma once

#include "transport/core/base/rank_set.h"
#include "transport/wire/body.h"

#include <optional>
#include <string>

namespace stage::core {

class BroadcastResult {
  public:
    explicit BroadcastResult(std::uint32_t members) : done_{members} {}

    /// Returns how many of these were not known to hold the object.
    std::uint32_t on_done(std::span<const wire::RankRun> ranks) { return done_.add(ranks); }
    void on_done(Rank rank) { done_.add(rank); }
    /// A member cannot hold the object. The first failure decides: true if this is it.
    bool on_failed(Rank rank, std::string why) {
        if (failed_) {
            return false;
        }
        failed_ = wire::Ending{.outcome = 1, .rank = rank, .why = std::move(why)};
        return true;
    }

    [[nodiscard]] const RankSet& done() const { return done_; }

    /// The content of RELEASE, once it is known.
    [[nodiscard]] std::optional<wire::Ending> decide(Rank source) const {
        if (failed_) {
            return failed_;
        }
        if (done_.is_full()) {
            return wire::Ending{.outcome = 0, .rank = source, .why = {}};
        }
        return std::nullopt;
    }

  private:
    RankSet done_;
    std::optional<wire::Ending> failed_;
};

}  // namespace stage::core
