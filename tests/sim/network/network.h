// The simulated network.
//
// One switch for each rail. Each member has an uplink and a downlink on it, with a rate and a
// queue; the switch multiplies multicast. Loss, duplication and reordering are drawn for each
// packet and member.
#pragma once

#include "tests/sim/network/events.h"
#include "tests/sim/network/link.h"
#include "tests/sim/network/packets.h"
#include "tests/sim/network/parking.h"
#include "tests/sim/plan/plan.h"

#include <functional>
#include <vector>

namespace stage::sim {

class Network {
  public:
    /// Called for what reaches a member's host: these packets of the train, the last at `at`.
    using Deliver = std::function<void(
        std::uint16_t member, Instant at, const TrainUse& train, PacketMask mask)>;

    Network(const Plan& plan, Events& events, Prng& prng, Deliver deliver);

    /// A train to be filled and sent.
    [[nodiscard]] Train& make() { return yard_.take(); }
    void send(Train& train);
    [[nodiscard]] bool is_honest() const;
    /// The first rail carries what is to one member.
    [[nodiscard]] std::size_t rail_of(const Train& train) const {
        return train.to_group ? train.header.flow.index() % plan_.rails : 0;
    }
    [[nodiscard]] const Link& downlink(std::uint16_t member, std::size_t rail = 0) const {
        return down_[link_of(member, rail)];
    }
    [[nodiscard]] const Link& uplink(std::uint16_t member, std::size_t rail = 0) const {
        return up_[link_of(member, rail)];
    }
    /// For others than members: through one link, now. When the last has left it.
    [[nodiscard]] Instant carry_up(std::uint16_t member, const Train& train, PacketMask& mask) {
        return up_[link_of(member, 0)].carry(events_.now(), train, mask);
    }
    [[nodiscard]] Instant carry_down(std::uint16_t member,
                                     const Train& train,
                                     PacketMask& mask) {
        return down_[link_of(member, 0)].carry(events_.now(), train, mask);
    }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    /// A train on its way to the switch, or a late packet on its way to a member.
    struct Flight {
        TrainUse train;
        std::uint16_t member = 0;
        PacketMask mask = 0;
    };

    [[nodiscard]] std::size_t link_of(std::uint16_t member, std::size_t rail) const {
        return member * std::size_t{plan_.rails} + rail;
    }
    void add_links(std::uint16_t member);
    void trace(const Train& train) const;
    void trace_lost(std::uint16_t member, const Train& train, PacketMask lost) const;
    void arrive_at_switch(std::uint64_t index);
    void arrive_late(std::uint64_t index);
    void forward(std::uint16_t member, const TrainUse& train, PacketMask mask);
    [[nodiscard]] bool is_healthy() const;
    [[nodiscard]] bool is_group_lost(std::uint16_t member) const;
    [[nodiscard]] bool is_cut(std::uint16_t from, std::uint16_t to, Instant now) const;
    [[nodiscard]] bool is_rail_dead(const Train& train, std::uint16_t to) const;
    [[nodiscard]] PacketMask without_rail_loss(std::uint16_t member,
                                               const Train& train,
                                               PacketMask mask);
    [[nodiscard]] PacketMask draw(std::uint32_t ppm, PacketMask mask);
    [[nodiscard]] PacketMask without_large(std::uint16_t member,
                                           const Train& train,
                                           PacketMask mask) const;
    [[nodiscard]] PacketMask survivors(std::uint16_t member,
                                       const Train& train,
                                       PacketMask mask);
    [[nodiscard]] PacketMask without_bursts(std::uint16_t member,
                                            const Train& train,
                                            PacketMask mask);

    const Plan& plan_;
    Events& events_;
    Prng& prng_;
    Deliver deliver_;
    TrainYard yard_;
    Parking<Flight> flights_;
    std::vector<Link> up_;  ///< The links of each member, by rail.
    std::vector<Link> down_;
    std::vector<Instant> burst_until_;
    /// This number of packets passes before the next loss.
    std::vector<std::uint64_t> next_loss_;
    bool is_traced_;
    std::uint64_t lost_ = 0;
};

}  // namespace stage::sim
