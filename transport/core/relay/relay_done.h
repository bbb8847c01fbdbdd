// Decides when a relay's receiver tells its parent which members hold the object.
//
// It tells at once when all members below it hold the object, and otherwise after a while, of
// several members together. A new parent hears of all of them again.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/rank_set.h"

#include <optional>
#include <span>

namespace stage::core {

class RelayDone {
  public:
    /// `subtree`: the number of members from this one on down. `gather`: from one DONE to the
    /// next.
    RelayDone(const CoreConfig& config, std::uint32_t subtree, Duration gather)
        : own_{config.own},
          subtree_{subtree},
          gather_{gather},
          done_{config.members},
          reported_{config.members} {}

    /// This member holds the object.
    void on_held() { done_.add(own_); }
    /// Members below hold the object.
    void on_done(std::span<const wire::RankRun> ranks) { done_.add(ranks); }
    /// No member is below this one any more.
    void on_alone() { subtree_ = 1; }
    /// Another parent is connected.
    void on_parent() {
        reported_.clear();
        reported_at_ = kLongAgo;
        own_said_at_.reset();
    }
    /// A packet of the parent arrived. A DONE that was sent more than an RTT before it was not
    /// lost with its connection.
    void on_heard(Instant now, Duration round_trip) {
        has_reported_own_ =
            has_reported_own_ || (own_said_at_ && now > *own_said_at_ + round_trip);
    }

    /// The body of a DONE that is due. A further one may be due at once.
    [[nodiscard]] std::optional<wire::Done> poll(Instant now) {
        const auto due = deadline();
        if (!due || now < *due) {
            return std::nullopt;
        }
        wire::Done body{.ranks = done_.runs(wire::kMaxRankRuns, reported_)};
        reported_.add(body.ranks);
        if (!own_said_at_ && reported_.has(own_)) {
            own_said_at_ = now;
        }
        reported_at_ = now;
        return body;
    }
    /// Nothing if the parent knows of all.
    [[nodiscard]] std::optional<Instant> deadline() const {
        if (done_.count() == reported_.count()) {
            return std::nullopt;
        }
        return done_.count() >= subtree_ ? kLongAgo : reported_at_ + gather_;
    }
    /// True once a parent has received that this member holds the object, as far as is known.
    [[nodiscard]] bool has_reported_own() const { return has_reported_own_; }

  private:
    Rank own_;
    std::uint32_t subtree_;
    Duration gather_;
    RankSet done_;      ///< Members known to hold the object.
    RankSet reported_;  ///< The part of `done_` that the present parent has received.
    Instant reported_at_ = kLongAgo;
    std::optional<Instant> own_said_at_;  ///< When a DONE named it to the present parent.
    bool has_reported_own_ = false;
};

}  // namespace stage::core
