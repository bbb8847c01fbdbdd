// How fast may a member pull, where nobody told it?
//
// A little faster with each request that was answered but for what chance may lose. What a path
// can't take shows in many requests together: a quarter stays away. Then the rate becomes that
// at which their answers came, which is what the path takes, and from there it rises slowly, so
// that it stays near. What was asked for before is not judged again: its answers waited in the
// same queue.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

class RepairRateSearch {
  public:
    explicit RepairRateSearch(std::uint32_t packet_bytes) : packet_bytes_{packet_bytes} {}

    /// A request leaves and nothing else is on its way: the time since something was says
    /// nothing of the path.
    void on_ask_anew(Instant now) {
        began_at_ += now - last_at_;
        last_at_ = now;
    }

    /// A chunk came that was asked for.
    void on_arrival(Instant now) {
        ++came_;
        last_at_ = now;
    }

    /// A request that was sent at `sent_at` ended: so many of its chunks came, and so many did
    /// not. Returns what becomes of `rate`, bytes per second.
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
            rate += rate / (rate < taken_ ? kRise : kRiseSlowly);
        }
        if (requests_ < kRequests && lost_ < kLostAtOnce) {
            return rate;
        }
        if (lost_ * kManyParts >= given_ + lost_) {
            const std::uint64_t arrived = rate_of_arrivals(now);
            if (arrived >= rate / 2) {  // Else it stood still, and took nothing for a while.
                taken_ = std::min(arrived, rate);
            }
            rate = std::clamp(arrived, rate / 2, rate);
            judged_at_ = now;
        }
        begin(now);
        return rate;
    }

  private:
    static constexpr unsigned kFewParts = 8;     ///< So small a part may be lost by chance,
    static constexpr unsigned kManyParts = 4;    ///< and so large a one isn't:
    static constexpr unsigned kRequests = 16;    ///< of so many requests, or as soon as
    static constexpr unsigned kLostAtOnce = 64;  ///< so many chunks stayed away.
    static constexpr unsigned kRise = 32;  ///< The rate rises by such a part with each request;
    static constexpr unsigned kRiseSlowly = 128;  ///< where it was too much before, by this.

    void begin(Instant now) {
        began_at_ = now;
        came_ = 0;
        requests_ = 0;
        given_ = 0;
        lost_ = 0;
    }

    [[nodiscard]] std::uint64_t rate_of_arrivals(Instant now) const {
        const auto time = static_cast<std::uint64_t>(
            std::max<Duration::rep>((now - began_at_).count(), 1'000));
        return came_ * std::uint64_t{packet_bytes_} * 1'000'000 / (time / 1'000);
    }

    std::uint32_t packet_bytes_;
    Instant began_at_ = kLongAgo;
    Instant last_at_ = kLongAgo;  ///< Something came, or was given up.
    Instant judged_at_ = kLongAgo;
    std::uint64_t taken_ =
        ~std::uint64_t{0};  ///< What the path took when it was asked for more.
    std::uint64_t came_ = 0;
    unsigned requests_ = 0;
    unsigned given_ = 0;
    unsigned lost_ = 0;
};

}  // namespace stage::core
