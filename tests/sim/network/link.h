// A simulated link.
//
// First in, first out, with a rate and a queue. It keeps its own accounts: a link that carries
// more than its rate allows is a bug of the simulator.
#pragma once

#include "tests/sim/network/packets.h"
#include "transport/base/units.h"

#include <cstdint>
#include <optional>

namespace stage::sim {

class Link {
  public:
    /// `queue_bytes` 0: no bound. `bucket_bytes`: pass at once after a pause.
    Link(std::uint64_t bytes_per_s, std::uint64_t queue_bytes, std::uint64_t bucket_bytes = 0);

    /// Takes the packets that `mask` names, one each `spacing` of the train from `now` on.
    /// When the last has left. What the queue has no room for is taken from `mask`.
    [[nodiscard]] Instant carry(Instant now, const Train& train, PacketMask& mask);

    /// Time until nothing waits.
    [[nodiscard]] Duration backlog(Instant now) const;
    /// Bytes that wait or are being sent.
    [[nodiscard]] std::uint64_t backlog_bytes(Instant now) const;
    /// Time until no more than this number of bytes wait.
    [[nodiscard]] Instant drained_to(std::uint64_t bytes) const;
    [[nodiscard]] Duration time_of(std::uint64_t bytes) const;

    [[nodiscard]] double bytes_per_s() const { return static_cast<double>(rate_); }
    [[nodiscard]] std::uint64_t carried() const { return carried_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    /// Never more than the rate allows: counted apart from how carry() computes it.
    [[nodiscard]] bool is_honest() const;

  private:
    [[nodiscard]] bool carry_one(Instant now, std::uint32_t bytes);

    std::uint64_t rate_;
    Duration queue_;        ///< The time that a full one takes.
    Duration bucket_;       ///< Also as a time.
    Instant busy_until_{};  ///< May lie in the past, by the bucket.
    std::uint64_t carried_ = 0;
    std::uint64_t dropped_ = 0;
    std::optional<Instant> first_;
};

}  // namespace stage::sim
