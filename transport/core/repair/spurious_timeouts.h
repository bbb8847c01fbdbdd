// Was somebody given up who only took longer?
//
// A peer on a busy host answers later than the others, each time. Who takes that for a loss of
// the path fetches ever less of a path that loses nothing. So what was given up is remembered
// for a while, and what comes of it all the same says how long to wait, as RACK's reordering
// window does (RFC 8985, 6.2 step 4).
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace stage::core {

class SpuriousTimeouts {
  public:
    /// Nobody is waited for any more who was asked for this at `sent_at`.
    void on_given_up(Rank peer, BlockIndex block, std::uint16_t chunk, Instant sent_at) {
        GivenUp& oldest = given_up_[next_++ % given_up_.size()];
        if (oldest.sent_at != kLongAgo) {
            slowest_ -= slowest_ / kForgetting;  // That one was lost indeed.
        }
        oldest = {peer, block, chunk, sent_at};
    }

    /// Something came. Whether it is the answer of one who was given up.
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

    /// The latest answer took so long; while others never come, it is forgotten.
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
