// Does what is sent to the group reach this member?
//
// The source is never silent for long. Who hears nothing of it by the group nevertheless asks
// it alone. If it answers, and nothing comes by the group a while after that, either, this
// member is cut off: a switch doesn't forward the group here, or has forgotten who listens. It
// fetches the object then (group_leave.h), until something comes by the group.
// docs/protocol, 7.7.
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
        ask,      ///< The source, alone: is it there?
        cut_off,  ///< It is, and doesn't reach this member by the group.
    };

    GroupReach(const CoreConfig& config, const EndingLimits& limits)
        : speaks_every_{limits.offer_max},
          alive_every_{std::max<Duration>(limits.offer_max, alive_every(config))} {}

    /// An offer came: from now on the source may be silent for longer.
    void begin() { speaks_every_ = alive_every_; }
    /// The source spoke to the group; or this member left that, and is to hear nothing. True if
    /// it was being asked.
    bool on_group(Instant now) {
        is_waiting_ = true;
        next_ = now + 2 * speaks_every_;
        return std::exchange(is_asking_, false);
    }
    /// It spoke to this member alone.
    void on_alone(Instant now) {
        if (is_asking_ && !is_waiting_ && !is_cut_off_) {
            is_waiting_ = true;
            next_ = now + speaks_every_ * 3 / 2;
        }
    }

    /// What time brings, each step once.
    [[nodiscard]] Step look(Instant now) {
        if (!is_waiting_ || now < next_) {
            return Step::none;
        }
        is_waiting_ = false;
        is_cut_off_ = is_asking_;
        is_asking_ = true;
        return is_cut_off_ ? Step::cut_off : Step::ask;
    }
    /// True if the group reaches this member again.
    [[nodiscard]] bool take_return() {
        const bool is_back = is_cut_off_ && !is_asking_;
        is_cut_off_ = is_cut_off_ && !is_back;
        return is_back;
    }
    [[nodiscard]] std::optional<Instant> deadline() const {
        return is_waiting_ ? std::optional{next_} : std::nullopt;
    }

  private:
    Duration speaks_every_;
    Duration alive_every_;
    bool is_asking_ = false;
    bool is_cut_off_ = false;
    bool is_waiting_ = false;
    Instant next_{};
};

}  // namespace stage::core
