// How do packets cross the false network?
//
// One switch. Each member has an uplink and a downlink with a rate and a queue; multicast is
// multiplied in the switch. What each link took in, carried and dropped is counted: a link that
// carries more than its rate allows is a bug of the simulator, not a fast network.
#pragma once

#include "tests/sim/events.h"
#include "tests/sim/plan.h"
#include "transport/wire/packet.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace stage::sim {

struct Packet {
    std::uint16_t from = 0;
    bool to_group = false;
    std::uint16_t to = 0;
    wire::Header header;
    std::uint32_t wire_bytes = 0;
    std::uint16_t body_bytes = 0;
    std::uint64_t content = 0;                           ///< DATA: which bytes these are.
    std::shared_ptr<const std::vector<std::byte>> body;  ///< Control; or the sealed packet.
};

/// A first-in-first-out link that keeps its own accounts.
class Link {
  public:
    Link(std::uint64_t bytes_per_s, std::uint64_t queue_bytes)
        : rate_{bytes_per_s}, queue_bytes_{queue_bytes} {}

    /// When the packet has left, or nothing if the queue is full.
    std::optional<Instant> carry(Instant now, std::uint32_t bytes);
    /// Bytes that wait or are being sent.
    [[nodiscard]] std::uint64_t backlog(Instant now) const;
    /// Time until no more than so many bytes wait.
    [[nodiscard]] Instant drained_to(std::uint64_t bytes) const;

    [[nodiscard]] std::uint64_t carried() const { return carried_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    /// Never more than the rate allows: counted apart from how carry() computes it.
    [[nodiscard]] bool is_honest() const;

  private:
    [[nodiscard]] Duration time_of(std::uint64_t bytes) const;

    std::uint64_t rate_;
    std::uint64_t queue_bytes_;
    Instant busy_until_{};
    std::uint64_t carried_ = 0;
    std::uint64_t dropped_ = 0;
    std::optional<Instant> first_;
};

class Network {
  public:
    /// Called for each packet that reaches a member's host.
    using Deliver = std::function<void(std::uint16_t member, Instant at, const Packet& packet)>;

    Network(const Plan& plan, Events& events, Prng& prng, Deliver deliver);

    void send(const Packet& packet);
    [[nodiscard]] std::uint64_t uplink_backlog(std::uint16_t member) const;
    [[nodiscard]] Instant uplink_drained(std::uint16_t member, std::uint64_t bytes) const;

    [[nodiscard]] bool is_honest() const;
    [[nodiscard]] const Link& downlink(std::uint16_t member) const { return down_[member]; }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    void trace(const Packet& packet) const;
    void arrive_at_switch(const Packet& packet);
    void forward(std::uint16_t member, const Packet& packet, bool is_healthy);
    [[nodiscard]] bool is_cut(std::uint16_t from, std::uint16_t to, Instant now) const;
    [[nodiscard]] bool is_lost(std::uint16_t member, bool is_healthy);

    const Plan& plan_;
    Events& events_;
    Prng& prng_;
    Deliver deliver_;
    std::vector<Link> up_;
    std::vector<Link> down_;
    std::vector<Instant> burst_until_;
    bool is_traced_;
    std::uint64_t lost_ = 0;
};

}  // namespace stage::sim
