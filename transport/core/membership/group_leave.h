// Decides when this receiver leaves the multicast group and when it comes back (docs/protocol,
// 7.6).
//
// The source does not follow one slow node. A receiver whose path is shared with another flow
// would get the stream at its full rate to the end, and the other flow almost nothing.
// Therefore a receiver that sees a standing queue on its own path for a while, and gets less
// than is sent, leaves the group. It then fetches the object as a TCP flow would (puller.h),
// with at most half of its path. It comes back when there was no queue for a while. It stays
// outside when nothing more is sent, or when the queue stays because a switch forwards the
// group's packets anyway.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/membership/path_queue.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

class GroupLeave {
  public:
    /// `prng` must outlive this.
    GroupLeave(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// Counts what the path brought to this host: the source's multicast packets, and repairs.
    /// Packets that its sockets dropped count as arrived, because the host lost them and not
    /// the path.
    void on_arrival(const Datagram& datagram) {
        ++arrived_;
        pulled_ += datagram.to_group ? 0U : 1U;
        overflow_ = datagram.overflow;
    }
    /// A PULSE arrived, by multicast or unicast. True if the standing has changed.
    [[nodiscard]] bool on_pulse(Instant now,
                                const Datagram& datagram,
                                const wire::Pulse& pulse);
    /// Nothing more will be sent to the group, or nothing is missing here. True if the standing
    /// has changed.
    [[nodiscard]] bool on_end(Instant now);
    [[nodiscard]] bool on_held(Instant now);

    /// Asks the source for a unicast PULSE, after a random delay.
    void ask(Instant now);
    /// Stops asking, because the group is heard.
    void stop_asking();
    /// Multicast does not reach this member, or reaches it again.
    void set_unreachable(Instant now, bool is_unreachable);
    /// Takes over the standing of `before`, when the member's parts are made anew.
    void go_on_as(Instant now, const GroupLeave& before);

    [[nodiscard]] wire::Standing standing() const { return standing_; }
    [[nodiscard]] bool is_away() const { return standing_ == wire::Standing::away; }
    [[nodiscard]] bool is_unreachable() const {
        return standing_ == wire::Standing::unreachable;
    }
    [[nodiscard]] bool is_fetching() const { return standing_ != wire::Standing::in_group; }
    /// True if most receivers are away, as the source counts them.
    [[nodiscard]] bool are_most_away() const { return away_ * 2U > receivers_; }
    [[nodiscard]] std::uint32_t times() const { return times_; }
    /// Half of the stream's throughput, bytes per second: fetching leaves the other half free,
    /// so a queue on the path is caused by other traffic. A receiver that is unreachable by
    /// multicast has the path for itself: the configured rate, or no bound.
    [[nodiscard]] std::uint64_t fetch_bytes_per_s() const;

    /// Sends LEFT until the source knows the standing, and repeats it while away to ask for
    /// PULSEs.
    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const { return left_due_at_; }
    void stop() { left_due_at_.reset(); }

  private:
    /// What had been sent and what had arrived at one time.
    struct Account {
        Instant at{};
        std::uint32_t sent = 0;
        std::uint32_t came = 0;
    };

    [[nodiscard]] Duration own_share(Instant arrived, const wire::Pulse& pulse) const;
    [[nodiscard]] bool is_anothers(Instant arrived, const wire::Pulse& pulse) const;

    [[nodiscard]] bool may_leave(Instant arrived, const wire::Pulse& pulse);
    [[nodiscard]] bool may_return(Instant arrived);
    void change(Instant now, wire::Standing standing);
    [[nodiscard]] Duration interval() const;

    LeaveLimits limits_;
    Rank source_;
    std::uint32_t packet_bytes_;
    std::uint32_t receivers_;
    Duration report_time_;
    Duration ask_spread_;
    std::uint64_t unreachable_rate_;
    bool is_held_ = false;
    std::uint16_t away_ = 0;  ///< The largest number so far.
    Prng& prng_;
    Duration wait_{};  ///< A random extra delay, so that not all leave at once.
    PathQueue queue_;
    wire::Standing standing_ = wire::Standing::in_group;
    std::uint32_t arrived_ = 0;   ///< Packets.
    std::uint32_t pulled_ = 0;    ///< Those of them that were requested.
    std::uint32_t overflow_ = 0;  ///< Packets that the sockets dropped.
    std::uint32_t times_ = 0;
    bool is_for_good_ = false;  ///< Leaving (again) is of no use.
    std::optional<Instant> stands_since_;
    /// When the path last had no queue, with the repairs until then.
    Account empty_;
    /// When the queue began to stand.
    Account stand_;
    Duration stood_{};  ///< The queue that made it leave.
    Duration packet_time_{};
    bool is_relieved_ = false;
    Instant relief_until_{};
    std::uint32_t id_ = 0;
    bool is_known_ = true;    ///< The source knows the standing.
    bool is_asking_ = false;  ///< The standing has not changed; LEFT only asks for a PULSE.
    Duration gap_{};
    std::optional<Instant> left_due_at_;
};

}  // namespace stage::core
