// Searches for the rate of repair requests where none is configured.
//
// Each request that lost no more than random loss explains raises the rate a little. What a
// path cannot carry shows in many requests together: a quarter of their chunks is lost. Then
// the rate becomes the rate at which their answers arrived, which is what the path carries.
// From there it rises slowly, so that it stays near that rate. Requests sent before are not
// judged again, because their answers waited in the same queue.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

class RepairRateSearch {
  public:
    explicit RepairRateSearch(std::uint32_t packet_bytes) : packet_bytes_{packet_bytes} {}

    /// A request leaves and nothing else is in flight: the time since the last arrival says
    /// nothing about the path.
    void on_ask_anew(Instant now) {
        began_at_ += now - last_at_;
        last_at_ = now;
    }

    /// A requested chunk arrived.
    void on_arrival(Instant now) {
        ++arrived_;
        last_at_ = now;
    }

    /// A request that was sent at `sent_at` ended: `given` of its chunks arrived and `lost` did
    /// not. Returns the new rate, bytes per second.
    [[nodiscard]] std::uint64_t on_request(
        Instant now, Instant sent_at, unsigned given, unsigned lost, std::uint64_t rate) {
        last_at_ = now;
        if (sent_at < judged_at_) {
            return rate;
        }
        ++requests_;
        given_ += given;
        lost_ += lost;
        if (lost * kFewParts <= given + lost) {
            rate += rate / (rate < limit_seen_ ? kRise : kRiseSlowly);
        }
        if (requests_ < kRequests && lost_ < kLostAtOnce) {
            return rate;
        }
        if (lost_ * kManyParts >= given_ + lost_) {
            const std::uint64_t arrived = rate_of_arrivals(now);
            // A lower rate means that the path stood still for a while; that is not its
            // capacity.
            if (arrived >= rate / 2) {
                limit_seen_ = std::min(arrived, rate);
            }
            rate = std::clamp(arrived, rate / 2, rate);
            judged_at_ = now;
        }
        begin(now);
        return rate;
    }

  private:
    static constexpr unsigned kFewParts = 8;   ///< Up to this part may be random loss.
    static constexpr unsigned kManyParts = 4;  ///< From this part on the path is overloaded.
    static constexpr unsigned kRequests = 16;  ///< Requests that are judged together.
    /// Chunks: with more losses fewer requests are judged together.
    static constexpr unsigned kLostAtOnce = 64;
    /// The part of itself by which the rate rises with each request.
    static constexpr unsigned kRise = 32;
    /// The part of itself by which it rises above what an overloaded path carried.
    static constexpr unsigned kRiseSlowly = 128;

    void begin(Instant now) {
        began_at_ = now;
        arrived_ = 0;
        requests_ = 0;
        given_ = 0;
        lost_ = 0;
    }

    [[nodiscard]] std::uint64_t rate_of_arrivals(Instant now) const {
        const auto time = static_cast<std::uint64_t>(
            std::max<Duration::rep>((now - began_at_).count(), 1'000));
        return arrived_ * std::uint64_t{packet_bytes_} * 1'000'000 / (time / 1'000);
    }

    std::uint32_t packet_bytes_;
    Instant began_at_ = kLongAgo;
    Instant last_at_ = kLongAgo;  ///< When a chunk last arrived or was given up.
    Instant judged_at_ = kLongAgo;
    /// What the path carried when it was overloaded, bytes per second.
    std::uint64_t limit_seen_ = ~std::uint64_t{0};
    std::uint64_t arrived_ = 0;
    unsigned requests_ = 0;
    unsigned given_ = 0;
    unsigned lost_ = 0;
};

}  // namespace stage::core
