// May what comes by the stream wait where it is, in the host's socket?
//
// A chunk that finds no room is dropped, and fetched again from a peer: that costs both of them
// as much as the stream did. Where the disk is about to make room it is cheaper to leave the
// stream in the socket, whose fill the source hears of. Not for long: what a disk can't
// take at all is better lost to this member than kept from the network. And by far not until
// the socket is full: then all would be lost that comes, whether there is room for it or not.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace stage::core {

class StreamWait {
  public:
    /// `most`: so long, counted from when the room ran out. `buffer_bytes`: of the socket that
    /// the group's packets come to, as the kernel counts them; 0: not known, so none waits.
    StreamWait(Duration most, std::uint64_t buffer_bytes)
        : most_{most}, buffer_bytes_{buffer_bytes} {}

    /// There is hardly room for the stream's next blocks, and the disk will make some. The
    /// stream brings so many bytes per second; 0: not known.
    void look(Instant now, bool is_crowded, std::uint64_t bytes_per_s) {
        if (!is_crowded) {
            until_.reset();
        } else if (!until_) {
            until_ = now + time_for(bytes_per_s);
        }
    }

    /// Until when it may wait; a time that has passed: it must not.
    [[nodiscard]] Instant until() const { return until_.value_or(Instant::min()); }

  private:
    /// The kernel counts a short packet as up to twice its bytes, so this is half of a buffer.
    static constexpr std::uint64_t kPart = 2;
    /// A disk makes no room in less.
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
