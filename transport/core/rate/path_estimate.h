// What the rate search has found out about the path, in whichever state.
//
// Rates are in bytes per second on the wire, times in seconds, losses and shares of 1. Lengths
// of a queue are measured in a unit, below which a queue is noise.
#pragma once

#include "transport/base/units.h"
#include "transport/core/rate/loss_probe.h"
#include "transport/core/rate/rate_board.h"
#include "transport/core/rate/rate_step.h"

namespace stage::core {

/// The duration of a measured time, at most 100 s.
[[nodiscard]] Duration duration_of(double seconds);

/// More than the token bucket of a traffic shaper lets through at once, bytes.
inline constexpr double kBucketBytes = 145'000;

/// Up to this part of the unit no queue shows.
inline constexpr double kNoQueue = 0.3;
/// The queue that the rate is kept at, units: the link is never idle, and nothing is lost. A
/// shorter one has drained.
inline constexpr double kSmallQueue = 0.6;
/// A longer queue, in units, than the burst of a late process makes.
inline constexpr double kLongQueue = 1.5;
/// Loss above the random loss that belongs to a full queue, if there is one.
inline constexpr double kOverflowLoss = 0.06;
/// Loss above the random loss after which no queue shows: the lost packets met it.
inline constexpr double kFloodLoss = 0.25;
/// Share of the capacity at which a queue drains: a fifth of what the path takes is free for
/// it, which shows soon whether another flow fills it.
inline constexpr double kDrainShare = 0.8;

struct PathEstimate {
    double packet_bytes = 0;  ///< A full packet on the wire.
    double rate = 0;          ///< The source's rate.
    double capacity = 0;      ///< 0 before it was measured.
    /// The capacity is confirmed: a queue has drained.
    bool is_confirmed = false;
    /// The capacity before samples lowered it that may have been wrong; 0: none did.
    double capacity_before_cut = 0;
    /// What passed in the last sample of a busy path; 0: it was not busy.
    double busy_passed = 0;
    LossProbe loss;

    /// The shortest queue that counts, seconds.
    [[nodiscard]] double queue_unit(const RateSample& sample) const;
    /// The rate before random loss took its part.
    [[nodiscard]] double without_random_loss(double delivered) const;
    /// What two samples in a row of a busy path agree on, or 0. A queue kept the path busy, so
    /// what passed is what the path takes, or one sample was wrong.
    [[nodiscard]] double agreed_capacity(const RateSample& sample, double unit);
    /// The capacity, lowered to `passed` but only by a bounded part: one sample's arrivals may
    /// have waited for a process, and not for the path.
    [[nodiscard]] double lowered_to(double passed) const;

    [[nodiscard]] RateStep drain() const {
        return {.rate = kDrainShare * capacity, .state = RateState::drain};
    }
};

}  // namespace stage::core
