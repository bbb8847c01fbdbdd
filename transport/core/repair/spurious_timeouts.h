// Detects requests that timed out although the peer only took longer.
//
// A peer on a busy host answers later than others, each time. A member that takes that for a
// loss of its path would fetch ever less over a path that loses nothing. Therefore requests
// that were given up are remembered for a while, and their late answers show how long to wait,
// like RACK's reordering window (RFC 8985, 6.2 step 4).
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace stage::core {

class SpuriousTimeouts {
  public:
    /// The request for this chunk, sent at `sent_at`, was given up.
    void on_given_up(Rank peer, BlockIndex block, std::uint16_t chunk, Instant sent_at) {
        GivenUp& oldest = given_up_[next_++ % given_up_.size()];
        if (oldest.sent_at != kLongAgo) {
            slowest_ -= slowest_ / kForgetting;  // It was lost indeed.
        }
        oldest = {peer, block, chunk, sent_at};
    }

    /// A chunk arrived. True if it answers a request that was given up.
    bool on_arrival(Instant now, Rank from, BlockIndex block, std::uint32_t chunk) {
        const auto found = std::ranges::find_if(given_up_, [&](const GivenUp& each) {
            return each.sent_at != kLongAgo && each.peer == from && each.block == block &&
                   each.chunk == chunk;
        });
        if (found == given_up_.end()) {
            return false;
        }
        slowest_ = std::max(slowest_, now - found->sent_at);
        found->sent_at = kLongAgo;
        return true;
    }

    /// The time that the slowest late answer took. It decays while other answers never arrive.
    [[nodiscard]] Duration slowest() const { return slowest_; }

  private:
    struct GivenUp {
        Rank peer;
        BlockIndex block;
        std::uint16_t chunk = 0;
        Instant sent_at = kLongAgo;
    };

    static constexpr std::size_t kRemembered = 8;
    static constexpr int kForgetting = 8;

    std::array<GivenUp, kRemembered> given_up_{};
    std::size_t next_ = 0;
    Duration slowest_{};
};

}  // namespace stage::core
