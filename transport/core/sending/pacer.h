// How much may be sent now?
//
// As much as elapsed time owes at the rate, less what was sent: no timer per packet. Credit is
// bounded in bytes and in age, so that whoever wakes up late sends a burst that a port's buffer
// takes, and forgets the rest.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/limits.h"

#include <cstdint>
#include <utility>

namespace stage::core {

class Pacer {
  public:
    /// Requires rate_bytes_per_s > 0. `packet_bytes`: of a full packet on the wire.
    Pacer(const PacerLimits& limits,
          std::uint64_t rate_bytes_per_s,
          std::uint32_t packet_bytes);

    void set_rate(Instant now, std::uint64_t rate_bytes_per_s);
    [[nodiscard]] std::uint64_t rate_bytes_per_s() const { return rate_; }
    /// Credit is bounded by so many times what the limits say, 1 .. PacerLimits::stretch_max.
    void set_stretch(Instant now, std::uint32_t stretch);
    [[nodiscard]] std::uint32_t stretch() const { return stretch_; }
    /// Was credit forgotten since this was asked last?
    [[nodiscard]] bool take_forgotten() { return std::exchange(has_forgotten_, false); }

    /// Bytes that may leave now. Time must not go back.
    [[nodiscard]] std::int64_t credit(Instant now);
    /// Is a whole burst owed? Who sends sooner, because something woke it, sends small trains.
    [[nodiscard]] bool is_due(Instant now) { return credit(now) >= std::int64_t{burst_}; }
    /// So many bytes left, whether credit was there or not.
    void charge(std::uint64_t bytes) { credit_ -= static_cast<std::int64_t>(bytes); }

    /// So many bytes may leave at once, whatever the bounds say.
    void grant(std::uint64_t bytes) { credit_ += static_cast<std::int64_t>(bytes); }

    /// When a whole burst is owed (or is already), so that one wake-up sends one burst.
    [[nodiscard]] Instant burst_at(Instant now) const;
    [[nodiscard]] std::uint32_t burst_bytes() const { return burst_; }

  private:
    void derive();

    PacerLimits limits_;
    std::uint64_t rate_;
    std::uint32_t packet_bytes_;
    std::uint32_t burst_ = 0;
    std::int64_t credit_max_ = 0;
    std::int64_t credit_ = 0;
    std::int64_t carry_ = 0;  ///< Billionths of a byte.
    Instant at_{};
    std::uint32_t stretch_ = 1;
    bool has_forgotten_ = false;
    bool is_started_ = false;
};

}  // namespace stage::core
