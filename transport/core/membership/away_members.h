// Who left the group, or never hears it, and what do all need to know to decide whether to?
//
// The source says each pulse_interval when it is, how much it has sent, how long the queue of
// most receivers' paths is, and how many have left. To one who left it says the same alone, as
// often as that one asks. Only where the site allows it (else no PULSE is sent, and nobody
// leaves), the rate is found, and as most receivers take it: a told rate is the site's, and
// where the slowest is followed nobody needs to leave.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"

#include <optional>
#include <vector>

namespace stage::core {

class AwayMembers {
  public:
    /// `is_short`: the object is so small that it is over before anybody could leave.
    AwayMembers(const CoreConfig& config, const LeaveLimits& limits, bool is_short);

    /// From now on there are pulses.
    void start(Instant now) { next_at_ = next_at_ ? next_at_ : std::optional{now}; }
    [[nodiscard]] bool is_due(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const {
        return is_on_ ? next_at_ : std::nullopt;
    }
    [[nodiscard]] bool is_on() const { return is_on_; }

    /// What left.
    void on_sends(std::span<const Send> sends);
    /// True if the member is away now and was not, or the other way.
    bool on_left(Rank from, const wire::Left& left);
    [[nodiscard]] bool is_away(Rank rank) const { return is_deaf(standing(rank)); }
    [[nodiscard]] bool is_cut_off(Rank rank) const {
        return standing(rank) == wire::Standing::cut_off;
    }
    /// So many are away.
    [[nodiscard]] std::uint32_t count() const { return away_; }
    /// It takes its pulls alone, whoever else asks for the same.
    [[nodiscard]] bool is_fetching(Rank rank) const {
        return standing(rank) != wire::Standing::in_group;
    }

    struct Progress {
        Position cursor;
        Duration queue;  ///< That most receivers have.
    };
    [[nodiscard]] wire::Pulse pulse(Instant now, const Progress& how) const;

  private:
    struct Member {
        wire::Standing standing = wire::Standing::in_group;
        std::uint32_t id = 0;
    };

    [[nodiscard]] static bool is_deaf(wire::Standing standing) {
        return standing == wire::Standing::away || standing == wire::Standing::cut_off;
    }
    [[nodiscard]] wire::Standing standing(Rank rank) const {
        return rank.index() < members_.size() ? members_[rank.index()].standing
                                              : wire::Standing::in_group;
    }

    LeaveLimits limits_;
    bool is_on_;
    std::uint32_t count_max_;
    std::vector<Member> members_;  ///< None before somebody left.
    std::uint16_t away_ = 0;
    std::uint32_t packets_ = 0;  ///< To the group.
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
