// Knows whether a receiver belongs to the multicast group.
//
// It may leave the group by itself (group_leave.h), or the network may not deliver the group's
// packets to it (group_reach.h). Each call that can change the standing says whether it has;
// then the receiver adjusts its driver, repair requests and reports.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/membership/group_leave.h"
#include "transport/core/membership/group_reach.h"

#include <optional>
#include <utility>

namespace stage::core {

class GroupStanding {
  public:
    /// `prng` must outlive this.
    GroupStanding(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// The receiver starts; its first OFFER arrived; it is over.
    void start(Instant now) { reach_.on_group(now); }
    void begin() { reach_.begin(); }
    void stop() { leave_.stop(); }

    /// Any packet arrived.
    void on_packet(Instant now, const Datagram& datagram);
    // Each is true if the standing has changed:
    [[nodiscard]] bool on_pulse(Instant now,
                                const Datagram& datagram,
                                const wire::Pulse& pulse,
                                bool may_leave);
    [[nodiscard]] bool on_end(Instant now) { return leave_.on_end(now); }
    [[nodiscard]] bool on_held(Instant now) { return leave_.on_held(now); }
    /// Whether multicast reaches this member. (One that left expects nothing.)
    [[nodiscard]] bool watch(Instant now);

    void poll(Instant now, ControlQueue& out) { leave_.poll(now, out); }
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// True if the packet shows how the stream goes: a multicast packet, or any if this member
    /// is unreachable by multicast.
    [[nodiscard]] bool is_for_me(const Datagram& datagram) const {
        return datagram.to_group || leave_.is_unreachable();
    }
    [[nodiscard]] bool is_swarm() const {
        return leave_.is_unreachable() && leave_.are_most_away();
    }
    [[nodiscard]] bool is_fetching() const { return leave_.is_fetching(); }
    [[nodiscard]] std::uint64_t fetch_bytes_per_s() const {
        return leave_.is_fetching() ? leave_.fetch_bytes_per_s() : 0;
    }
    [[nodiscard]] std::uint32_t times_left() const { return leave_.times(); }
    /// leave_group or join_group, once after each change that needs it.
    [[nodiscard]] std::optional<OperationKind> take_move();
    /// Continues as a member with smaller packets.
    void go_on_as(Instant now, const GroupStanding& other);

  private:
    Rank source_;
    GroupLeave leave_;
    GroupReach reach_;
    bool is_out_ = false;  ///< As the driver knows it.
};

}  // namespace stage::core
