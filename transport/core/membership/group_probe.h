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

#include <vector>

namespace stage::core {

class GroupProbe {
  public:
    /// Looks only if the policy is not `fetch`, and not while packets may become smaller.
    GroupProbe(const CoreConfig& config, const EndingLimits& limits);

    /// An OFFER left.
    void on_offer() { ++offers_; }
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
    struct Call {
        Instant first{};
        std::uint32_t offers = 0;  ///< That had left before.
    };

    Duration wait_min_;
    std::uint32_t offers_min_;
    std::uint32_t offers_ = 0;
    std::vector<Call> calls_;  ///< By rank; empty if it does not look.
    std::vector<Rank> unreached_;
};

}  // namespace stage::core
