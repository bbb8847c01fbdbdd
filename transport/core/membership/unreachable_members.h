// Tracks the receivers that multicast does not reach, and composes the PULSEs that answer them.
//
// Such a receiver says so by LEFT, and repeats it. Each LEFT is answered by a unicast PULSE,
// which states how far the source is, and how many receivers multicast does not reach.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/rank_set.h"

#include <vector>

namespace stage::core {

class UnreachableMembers {
  public:
    explicit UnreachableMembers(const CoreConfig& config) : count_max_{config.members} {}

    /// Counts the packets sent to the group.
    void on_sends(std::span<const Send> sends);
    /// True if multicast ceased to reach the member, or reaches it again.
    bool on_left(Rank from, const wire::Left& left);
    [[nodiscard]] bool has(Rank rank) const {
        return rank.index() < members_.size() && members_[rank.index()].is_unreachable;
    }
    /// There are receivers that are not `settled` (done or dropped), and multicast reaches none
    /// of these.
    [[nodiscard]] bool are_all(const RankSet& settled, Rank source) const;
    /// Answers the LEFT `echo`. `cursor`: everything before it was sent.
    [[nodiscard]] wire::Pulse pulse(Instant now, Position cursor, std::uint32_t echo) const;

  private:
    struct Member {
        bool is_unreachable = false;
        std::uint32_t id = 0;  ///< The id of the member's newest LEFT.
    };

    std::uint32_t count_max_;
    std::vector<Member> members_;  ///< Empty until a receiver is unreachable.
    std::uint16_t count_ = 0;
    std::uint32_t packets_ = 0;  ///< Sent to the group.
};

}  // namespace stage::core
