// Knows whether multicast reaches a receiver, and tells the source.
//
// The network may not deliver the group's packets to it (group_reach.h); the source hears of
// that by LEFT (reach_notice.h). Then the receiver fetches the object by requests. Each call
// that can change the standing says whether it has.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/membership/group_reach.h"
#include "transport/core/membership/reach_notice.h"

#include <optional>

namespace stage::core {

class GroupStanding {
  public:
    /// `prng` must outlive this.
    GroupStanding(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// The receiver starts; its first OFFER arrived; it holds the object; it is over.
    void start(Instant now) { reach_.on_group(now); }
    void begin() { reach_.begin(); }
    void on_held() { notice_.on_held(); }
    void stop() { notice_.stop(); }

    /// Any packet arrived.
    void on_packet(Instant now, const Datagram& datagram);
    /// A unicast PULSE of the source arrived.
    void on_pulse(const wire::Pulse& pulse) { notice_.on_pulse(pulse); }
    /// True if the standing has changed.
    [[nodiscard]] bool watch(Instant now);

    void poll(Instant now, ControlQueue& out) { notice_.poll(now, out); }
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// True if the packet shows how the stream goes: a multicast packet, or any if this member
    /// is unreachable by multicast.
    [[nodiscard]] bool is_for_me(const Datagram& datagram) const {
        return datagram.to_group || notice_.is_unreachable();
    }
    [[nodiscard]] bool is_unreachable() const { return notice_.is_unreachable(); }
    [[nodiscard]] bool is_swarm() const {
        return notice_.is_unreachable() && notice_.are_most_unreachable();
    }
    /// How fast this member may fetch, bytes per second: it has its path for itself. 0 while
    /// multicast reaches it.
    [[nodiscard]] std::uint64_t fetch_bytes_per_s() const {
        return is_unreachable() ? fetch_bytes_per_s_ : 0;
    }
    /// Continues as a member with smaller packets.
    void go_on_as(Instant now, const GroupStanding& other);

  private:
    Rank source_;
    std::uint64_t fetch_bytes_per_s_;  ///< The configured rate, or no bound.
    ReachNotice notice_;
    GroupReach reach_;
};

}  // namespace stage::core
