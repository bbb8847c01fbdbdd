// How fast can this member hear?
//
// The most that arrived in any window of 20 ms: what its link and its host were seen to take.
// Asked only where no rate was told.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stage::core {

class StreamRate {
  public:
    static constexpr Duration kWindow = std::chrono::milliseconds{20};

    /// True if the best rate rose.
    bool on_bytes(Instant now, std::uint32_t bytes) {
        if (!is_started_ || now - begin_ >= kWindow) {
            const bool rose = close(now);
            is_started_ = true;
            begin_ = now;
            bytes_ = bytes;
            return rose;
        }
        bytes_ += bytes;
        return false;
    }

    [[nodiscard]] std::uint64_t best_bytes_per_s() const { return best_; }

  private:
    bool close(Instant now) {
        if (!is_started_ || now <= begin_) {
            return false;
        }
        const auto us = static_cast<std::uint64_t>((now - begin_).count() / 1000);
        const std::uint64_t rate = us > 0 ? bytes_ * 1'000'000 / us : 0;
        const bool rose = rate > best_;
        best_ = std::max(best_, rate);
        return rose;
    }

    bool is_started_ = false;
    Instant begin_{};
    std::uint64_t bytes_ = 0;
    std::uint64_t best_ = 0;
};

}  // namespace stage::core
