// Should this member leave the group, and when does it come back?
//
// The source never follows one slow node. A member whose path a foreign flow shares would get
// the stream at full rate for ever, and that flow nothing. So who sees a queue stand on its own
// path for a while, and gets less than is sent, leaves the multicast group and fetches the
// object as a TCP flow would (puller.h), by at most half of its path. It comes back when no
// queue was there for a while; when nothing more is sent; and for good where the queue stands
// on, because a switch forwards the group to everybody. docs/protocol, 7.6.
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

    /// What its path brought to this host: all of the source's by multicast, and what it asked
    /// for. What its sockets dropped came, too: that is the host's fault.
    void on_arrival(const Datagram& datagram) {
        ++arrived_;
        pulled_ += datagram.to_group ? 0U : 1U;
        overflow_ = datagram.overflow;
    }
    /// The source's PULSE, to all or to this one. True if the standing has changed.
    [[nodiscard]] bool on_pulse(Instant now,
                                const Datagram& datagram,
                                const wire::Pulse& pulse);
    /// Nothing more will be sent to the group, or nothing is missing here. True if the standing
    /// has changed.
    [[nodiscard]] bool on_end(Instant now);
    [[nodiscard]] bool on_held(Instant now);

    /// Asks the source for a PULSE to this member alone; not all ask at once.
    void ask(Instant now);
    /// Nothing is to be known by that any more.
    void stop_asking();
    /// What is sent to the group does not reach this member, or does again.
    void set_cut_off(Instant now, bool is_cut_off);
    /// Made anew: what `before` said stands.
    void go_on_as(Instant now, const GroupLeave& before);

    [[nodiscard]] wire::Standing standing() const { return standing_; }
    [[nodiscard]] bool is_away() const { return standing_ == wire::Standing::away; }
    [[nodiscard]] bool is_cut_off() const { return standing_ == wire::Standing::cut_off; }
    [[nodiscard]] bool is_fetching() const { return standing_ != wire::Standing::in_group; }
    /// As the source counts them.
    [[nodiscard]] bool are_most_away() const { return away_ * 2U > receivers_; }
    [[nodiscard]] std::uint32_t times() const { return times_; }
    /// Half of what the stream took, bytes per second: what is fetched leaves the other half
    /// free, so that a queue on the path is somebody else's. Who is cut off has the path for
    /// itself: what was told, or all.
    [[nodiscard]] std::uint64_t fetch_bytes_per_s() const;

    /// Tells the source, until it knows; while away again and again, to be told how it goes on.
    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const { return tell_at_; }
    void stop() { tell_at_.reset(); }

  private:
    /// What was sent and what came, at one time.
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
    std::uint64_t cut_off_rate_;
    bool is_held_ = false;
    std::uint16_t away_ = 0;  ///< The most that ever were.
    Prng& prng_;
    Duration wait_{};  ///< So much longer, by chance: not all leave at once.
    PathQueue queue_;
    wire::Standing standing_ = wire::Standing::in_group;
    std::uint32_t arrived_ = 0;   ///< Packets.
    std::uint32_t pulled_ = 0;    ///< Those of them that were asked for.
    std::uint32_t overflow_ = 0;  ///< Those that the sockets dropped.
    std::uint32_t times_ = 0;
    bool is_for_good_ = false;  ///< To leave (again) is no use.
    std::optional<Instant> stands_since_;
    Account empty_;     ///< When the path had no queue, and what was asked for then;
    Account stand_;     ///< and when the queue began to stand.
    Duration stood_{};  ///< The queue that made it leave.
    Duration packet_time_{};
    bool is_relieved_ = false;
    Instant relief_until_{};
    std::uint32_t id_ = 0;
    bool is_known_ = true;    ///< The source heard of it.
    bool is_asking_ = false;  ///< It knows it, and is only asked.
    Duration gap_{};
    std::optional<Instant> tell_at_;
};

}  // namespace stage::core
