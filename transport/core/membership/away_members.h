// Tracks the members outside the multicast group, and composes the PULSEs by which receivers
// decide whether to leave it.
//
// Every pulse_interval a PULSE states the source's time, how much it has sent, the standing
// queue of most receivers' paths, and how many receivers are away. A receiver that left gets
// the same by unicast, as often as it asks. PULSEs are sent only if the site allows leaving and
// the rate follows most receivers: a configured rate is the site's decision, and where the rate
// follows the slowest receiver none needs to leave.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/rank_set.h"

#include <optional>
#include <vector>

namespace stage::core {

class AwayMembers {
  public:
    /// `is_short`: the object is so small that it is over before a receiver could leave.
    AwayMembers(const CoreConfig& config, const LeaveLimits& limits, bool is_short);

    /// From now on the source sends PULSEs.
    void start(Instant now) { next_at_ = next_at_ ? next_at_ : std::optional{now}; }
    [[nodiscard]] bool is_due(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const {
        return is_on_ ? next_at_ : std::nullopt;
    }
    [[nodiscard]] bool is_on() const { return is_on_; }

    /// Counts the packets sent to the group.
    void on_sends(std::span<const Send> sends);
    /// True if the member went away or came back.
    bool on_left(Rank from, const wire::Left& left);
    [[nodiscard]] bool is_away(Rank rank) const { return is_outside(standing(rank)); }
    [[nodiscard]] bool is_unreachable(Rank rank) const {
        return standing(rank) == wire::Standing::unreachable;
    }
    /// There are receivers that are not `settled` (done or dropped), and all of these are away.
    [[nodiscard]] bool are_all_away(const RankSet& settled, Rank source) const;
    /// The member gets repairs by unicast, even if others request the same chunks.
    [[nodiscard]] bool is_fetching(Rank rank) const {
        return standing(rank) != wire::Standing::in_group;
    }

    struct Progress {
        Position cursor;
        Duration queue;  ///< The standing queue of most receivers' paths.
    };
    [[nodiscard]] wire::Pulse pulse(Instant now, const Progress& how) const;

  private:
    struct Member {
        wire::Standing standing = wire::Standing::in_group;
        std::uint32_t id = 0;
    };

    [[nodiscard]] static bool is_outside(wire::Standing standing) {
        return standing == wire::Standing::away || standing == wire::Standing::unreachable;
    }
    [[nodiscard]] wire::Standing standing(Rank rank) const {
        return rank.index() < members_.size() ? members_[rank.index()].standing
                                              : wire::Standing::in_group;
    }

    LeaveLimits limits_;
    bool is_on_;
    std::uint32_t count_max_;
    std::vector<Member> members_;  ///< Empty until a receiver leaves.
    std::uint16_t away_ = 0;
    std::uint32_t packets_ = 0;  ///< Sent to the group.
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
