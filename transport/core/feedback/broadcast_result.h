// Decides when the broadcast is over and whether it succeeded.
//
// This is the one place that says what a failed member means for the group. By default one
// failed member fails all, because a job needs the file on each of its nodes. Where the site
// wants it (drops_failed) a failed receiver is dropped, and the broadcast succeeds when
// all others hold the object; a failed source fails all, and so does the loss of every
// receiver.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/rank_set.h"
#include "transport/wire/body.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage::core {

class BroadcastResult {
  public:
    explicit BroadcastResult(const CoreConfig& config)
        : source_{config.source},
          drops_failed_{config.drops_failed},
          done_{config.members},
          settled_{config.members} {}

    /// The members hold the object, whatever was known before.
    void on_done(std::span<const wire::RankRun> ranks) {
        done_.add(ranks);
        settled_.add(ranks);
    }
    void on_done(Rank rank) {
        done_.add(rank);
        settled_.add(rank);
    }
    /// A member cannot hold the object. The failure of a receiver that does counts for nothing,
    /// and the first failure of a member for all. True if it makes the receiver one that is
    /// dropped.
    bool on_failed(Rank rank, Error why) {
        const bool is_receiver = rank != source_;
        if (is_receiver && settled_.has(rank)) {
            return false;
        }
        if (is_receiver && drops_failed_) {
            dropped_.push_back({.rank = rank, .why = std::move(why)});
            settled_.add(rank);
            return true;
        }
        if (!failed_) {
            failed_ = DroppedMember{.rank = rank, .why = std::move(why)};
        }
        return false;
    }

    [[nodiscard]] const RankSet& done() const { return done_; }
    /// The members that no member waits for: done or dropped.
    [[nodiscard]] const RankSet& settled() const { return settled_; }

    /// The members that were dropped, and are not done after all, by rank.
    [[nodiscard]] std::vector<DroppedMember> dropped() const;

    [[nodiscard]] std::uint32_t dropped_count() const {
        return settled_.count() - done_.count();
    }

    /// The failure that ends the broadcast, if there is one.
    [[nodiscard]] std::optional<DroppedMember> failure() const;
    [[nodiscard]] bool is_success() const { return settled_.is_full() && !failure(); }

  private:
    Rank source_;
    bool drops_failed_;
    RankSet done_;
    RankSet settled_;
    std::vector<DroppedMember> dropped_;
    std::optional<DroppedMember> failed_;
};

}  // namespace stage::core
