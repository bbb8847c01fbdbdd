// Finds the receivers that run and do not hear the group, before the source sends any data.
//
// A receiver that has heard no OFFER solicits one by unicast (offer_solicitation.h). If it
// still does so after several more OFFERs, its unicast packets arrive and the group's do not
// reach it. The finding is complete when every member has either answered an OFFER or been
// found: a member that was not heard at all may only be busy.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace stage::core {

class GroupProbe {
  public:
    /// Looks only if the policy is not `fetch`, and not while packets may become smaller.
    GroupProbe(const CoreConfig& config, const EndingLimits& limits);

    [[nodiscard]] bool looks() const { return !calls_.empty(); }

    /// An OFFER leaves.
    void on_offer(Instant now);
    /// The member solicits an OFFER, by a packet that reached this host at `arrived`.
    void on_call(Instant arrived, Rank from);
    /// The member says itself that multicast does not reach it.
    void on_unreachable(Rank from);
    /// The member answered an OFFER of the group.
    void on_heard(Rank from);

    /// True if there are such members, and all others are in `ready`.
    [[nodiscard]] bool is_complete(const RankSet& ready) const;
    [[nodiscard]] const std::vector<Rank>& unreached() const { return unreached_; }

  private:
    [[nodiscard]] bool have_left(std::ptrdiff_t offers, Instant after, Instant until) const;

    Duration wait_min_;
    std::uint32_t offers_min_;
    std::vector<Instant> offers_;  ///< When each left.
    /// When the first solicitation arrived, by rank; empty if it does not look.
    std::vector<std::optional<Instant>> calls_;
    std::vector<Rank> unreached_;
};

}  // namespace stage::core
