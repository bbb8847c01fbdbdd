// Spaces packets with a token bucket, without a timer for each packet.
//
// Tokens (bytes) accumulate at the rate, and sending consumes them. The bucket is bounded in
// bytes and in age: after a late wake-up a member sends a burst that a switch port's buffer can
// hold, and the other tokens are discarded.
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
    /// Sets the burst factor, by which the bucket's bounds are multiplied: 1 ..
    /// PacerLimits::burst_factor_max.
    void set_burst_factor(Instant now, std::uint32_t burst_factor);
    [[nodiscard]] std::uint32_t burst_factor() const { return burst_factor_; }
    /// There was nothing to send until now: tokens accumulate within the bounds, and none of
    /// them counts as discarded.
    void rest(Instant now);
    /// True if tokens were discarded since the last call.
    [[nodiscard]] bool take_forgotten() { return std::exchange(has_forgotten_, false); }

    /// Bytes that may leave now. Time must not go back.
    [[nodiscard]] std::int64_t credit(Instant now);
    /// True if there are tokens for a whole burst. Sending sooner, after an early wake-up,
    /// would make small bursts.
    [[nodiscard]] bool is_due(Instant now) { return credit(now) >= std::int64_t{burst_}; }
    /// This number of bytes left, with or without tokens.
    void charge(std::uint64_t bytes) { credit_ -= static_cast<std::int64_t>(bytes); }

    /// Adds tokens for this number of bytes, beyond the bounds.
    void grant(std::uint64_t bytes) { credit_ += static_cast<std::int64_t>(bytes); }

    /// When there are tokens for a whole burst, so that one wake-up sends one burst.
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
    std::uint32_t burst_factor_ = 1;
    bool has_forgotten_ = false;
    bool is_started_ = false;
};

}  // namespace stage::core
