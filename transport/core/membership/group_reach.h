// Detects that multicast does not reach this member (docs/protocol, 7.7).
//
// The source is never silent for long. A member that hears nothing of it by multicast asks it
// by unicast. If the source answers, and still no multicast packet arrives for a while, this
// member is unreachable by multicast: a switch does not forward the group here, or has
// forgotten its members. The member then fetches the object (repair/puller.h) until a multicast
// packet arrives.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/timeouts.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stage::core {

class GroupReach {
  public:
    enum class Step {
        none,
        ask,          ///< Ask the source by unicast whether it is there.
        unreachable,  ///< The source answered, and multicast does not reach this member.
    };

    GroupReach(const CoreConfig& config, const EndingLimits& limits)
        : speaks_every_{std::max<Duration>(limits.offer_max, alive_every(config))},
          proof_{speaks_every_ * 3 / 2} {}

    /// An OFFER arrived, so that the group did reach this member.
    void begin() { proof_ = speaks_every_ * kProofPackets; }
    /// A multicast packet arrived. True if the source was being asked.
    bool on_group(Instant now) {
        is_waiting_ = true;
        next_ = now + 2 * speaks_every_;
        return std::exchange(is_asking_, false);
    }
    /// A unicast packet of the source arrived.
    void on_alone(Instant now) {
        if (is_asking_ && !is_waiting_ && !is_unreachable_) {
            is_waiting_ = true;
            next_ = now + proof_;
        }
    }

    /// The step that is due now, each once.
    [[nodiscard]] Step look(Instant now) {
        if (!is_waiting_ || now < next_) {
            return Step::none;
        }
        is_waiting_ = false;
        is_unreachable_ = is_asking_;
        is_asking_ = true;
        return is_unreachable_ ? Step::unreachable : Step::ask;
    }
    /// True, once, if multicast reaches this member again.
    [[nodiscard]] bool take_return() {
        const bool is_back = is_unreachable_ && !is_asking_;
        is_unreachable_ = is_unreachable_ && !is_back;
        return is_back;
    }
    [[nodiscard]] std::optional<Instant> deadline() const {
        return is_waiting_ ? std::optional{next_} : std::nullopt;
    }

  private:
    /// Beside the two that it missed before it asked: that many are not lost by chance.
    static constexpr int kProofPackets = 4;

    Duration speaks_every_;
    Duration proof_;  ///< How long it waits after the source's answer.
    bool is_asking_ = false;
    bool is_unreachable_ = false;
    bool is_waiting_ = false;
    Instant next_{};
};

}  // namespace stage::core
