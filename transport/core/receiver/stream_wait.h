// Decides whether packets of the stream may wait in the host's socket.
//
// A chunk that finds no room is dropped and requested from a peer, which costs both of them as
// much as the stream did. If the disk is about to make room it is cheaper to leave the stream
// in the socket, whose fill level the source learns from reports. The wait is short: what a
// disk cannot take at all should be lost at this member instead of being kept from the network.
// It ends long before the socket is full, because then every packet would be lost, whether
// there is room for it or not.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace stage::core {

class StreamWait {
  public:
    /// `most`: the longest wait, counted from when the room ran out. `buffer_bytes`: the size
    /// of the socket buffer that receives the group's packets, as the kernel counts; 0: not
    /// known, so nothing waits.
    StreamWait(Duration most, std::uint64_t buffer_bytes)
        : most_{most}, buffer_bytes_{buffer_bytes} {}

    /// `is_crowded`: there is hardly room for the stream's next blocks, and the disk will make
    /// some. `bytes_per_s`: of the stream; 0: not known.
    void look(Instant now, bool is_crowded, std::uint64_t bytes_per_s) {
        if (!is_crowded) {
            until_.reset();
        } else if (!until_) {
            until_ = now + time_for(bytes_per_s);
        }
    }

    /// Until when packets may wait. A time in the past: they may not.
    [[nodiscard]] Instant until() const { return until_.value_or(Instant::min()); }

  private:
    /// The kernel counts a short packet with up to twice its bytes, so this is half of the
    /// buffer.
    static constexpr std::uint64_t kPart = 2;
    /// A disk makes no room in a shorter time.
    static constexpr Duration kLeast = std::chrono::milliseconds{5};

    [[nodiscard]] Duration time_for(std::uint64_t bytes_per_s) const {
        const std::uint64_t bytes_per_ms = bytes_per_s / 1000;
        if (bytes_per_ms == 0) {
            return Duration::zero();
        }
        const auto ms = static_cast<std::int64_t>(buffer_bytes_ / kPart / bytes_per_ms);
        const Duration time = std::min<Duration>(most_, std::chrono::milliseconds{ms});
        return time < kLeast ? Duration::zero() : time;
    }

    Duration most_;
    std::uint64_t buffer_bytes_;
    std::optional<Instant> until_;
};

}  // namespace stage::core
