// Bounds what a member outside the group requests.
//
// Such a member fetches the whole object over a path that it shares with other flows. So the
// chunks in flight stay within a window as TCP's (cubic_window.h), which every time-out
// shrinks, and the requests stay below a rate.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/sending/cubic_window.h"
#include "transport/core/sending/rtt_estimator.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stage::core {

class FetchWindow {
  public:
    FetchWindow(const Limits& limits, std::uint32_t packet_bytes)
        : request_chunks_max_{limits.repair.request_chunks_max},
          chunks_first_{limits.fetch.pull_window_first},
          chunks_max_{limits.repair.in_flight_chunks_max},
          rate_min_{limits.rate.least_bytes_per_s},
          packet_bytes_{packet_bytes} {}

    /// The member left the group, or is back in it (0), and requests no more than this. True if
    /// that changed. The other functions require a member outside the group.
    bool set_outside(Instant now, std::uint64_t rate_max_bytes_per_s) {
        rate_max_ = rate_max_bytes_per_s;
        const bool was_outside = std::exchange(is_outside_, rate_max_ > 0);
        if (is_outside_ && !was_outside) {
            window_ = {};
            window_.begin(now, chunks_first_);
        }
        return is_outside_ != was_outside;
    }
    [[nodiscard]] bool is_outside() const { return is_outside_; }

    /// The most chunks in flight.
    [[nodiscard]] std::uint32_t chunks() const {
        return std::clamp(
            static_cast<std::uint32_t>(window_.packets()), kChunksMin, chunks_max_);
    }
    /// The most chunks of one request: half of a small window, because the other half is under
    /// way meanwhile.
    [[nodiscard]] std::uint32_t request_max() const {
        return std::clamp<std::uint32_t>(chunks() / 2, 1U, request_chunks_max_);
    }
    /// A request uses a good part of the window's room: else each answer would bring a new one.
    [[nodiscard]] bool has_room(std::uint32_t in_flight) const {
        return in_flight + std::max(request_max() / 2, 1U) <= chunks();
    }
    /// The rate of the requested bytes.
    [[nodiscard]] std::uint64_t rate_bytes_per_s(const RttEstimator& round_trip) const {
        const double wanted = kPace * chunks() * packet_bytes_ / seconds_of(round_trip);
        const auto rate =
            std::max(static_cast<std::uint64_t>(std::min(wanted, kRateMax)), rate_min_);
        return std::max<std::uint64_t>(std::min(rate, rate_max_), 1);
    }

    /// A chunk arrived. A window that is not full says nothing about the path's capacity.
    void on_arrival(Instant now, std::uint32_t in_flight, const RttEstimator& round_trip) {
        if (in_flight + request_max() >= chunks()) {
            window_.grow(now, seconds_of(round_trip));
        } else {
            window_.rest(now);
        }
    }
    /// A request timed out: the path lost something.
    void on_timeout(Instant now, const RttEstimator& round_trip) {
        window_.on_loss(now, seconds_of(round_trip));
    }

  private:
    static constexpr std::uint32_t kChunksMin = 2;  ///< One may be lost, the other says so.
    /// Times the window in an RTT: faster, so that the window bounds what is under way.
    static constexpr double kPace = 1.25;
    static constexpr double kRateMax = 1e12;  ///< Bytes per second: above any link's.
    static constexpr double kTripMin = 1e-4;  ///< Seconds: no process answers sooner.

    [[nodiscard]] static double seconds_of(const RttEstimator& round_trip) {
        return std::max(static_cast<double>(round_trip.mean().count()) / 1e9, kTripMin);
    }

    std::uint32_t request_chunks_max_;
    std::uint32_t chunks_first_;
    std::uint32_t chunks_max_;
    std::uint64_t rate_min_;
    std::uint64_t rate_max_ = 0;
    std::uint32_t packet_bytes_;
    bool is_outside_ = false;
    CubicWindow window_;
};

}  // namespace stage::core
