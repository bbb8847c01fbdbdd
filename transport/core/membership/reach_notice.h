// Tells the source by LEFT whether multicast reaches this receiver (docs/protocol, 7.6).
//
// A LEFT is repeated until a PULSE of the source answers it. A receiver that multicast does not
// reach goes on, because the PULSEs are all that it hears of the source.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

class ReachNotice {
  public:
    /// `prng` must outlive this.
    ReachNotice(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// A unicast PULSE of the source arrived.
    void on_pulse(const wire::Pulse& pulse);
    /// This receiver holds the object, so it is in no hurry.
    void on_held() { is_held_ = true; }

    /// Asks the source for a PULSE, after a random delay.
    void ask(Instant now);
    /// Stops asking, because the group is heard.
    void stop_asking();
    /// Multicast does not reach this member, or reaches it again.
    void set_unreachable(Instant now, bool is_unreachable);
    /// Takes over the standing of `before`, when the member's parts are made anew.
    void go_on_as(Instant now, const ReachNotice& before);

    [[nodiscard]] bool is_unreachable() const { return is_unreachable_; }
    /// True if multicast does not reach most receivers, as the source counts them.
    [[nodiscard]] bool are_most_unreachable() const { return away_ * 2U > receivers_; }

    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const { return due_at_; }
    void stop() { due_at_.reset(); }

  private:
    void change(Instant now, bool is_unreachable);
    [[nodiscard]] Duration interval() const;

    Duration interval_least_;
    Rank source_;
    std::uint32_t receivers_;
    Duration report_time_;
    Duration ask_spread_;
    bool is_held_ = false;
    std::uint16_t away_ = 0;  ///< The largest number that a PULSE stated.
    Prng& prng_;
    bool is_unreachable_ = false;
    std::uint32_t id_ = 0;
    bool is_known_ = true;    ///< The source knows the standing.
    bool is_asking_ = false;  ///< The standing has not changed; LEFT only asks for a PULSE.
    Duration gap_{};
    std::optional<Instant> due_at_;
};

}  // namespace stage::core
