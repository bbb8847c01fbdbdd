// May what comes by the stream wait where it is, in the host's socket?
//
// A chunk that finds no room is dropped, and fetched again from a peer: that costs both of them
// as much as the stream did. Where the disk is about to make room it is cheaper to leave the
// stream in the socket, whose fill the source hears of. Not for long: what a disk can't
// take at all is better lost to this member than kept from the network.
#pragma once

#include "transport/base/units.h"

#include <optional>

namespace stage::core {

class StreamWait {
  public:
    /// `most`: so long, counted from when the room ran out.
    explicit StreamWait(Duration most) : most_{most} {}

    /// There is hardly room for the stream's next blocks, and the disk will make some.
    void look(Instant now, bool is_crowded) {
        if (!is_crowded) {
            since_.reset();
        } else if (!since_) {
            since_ = now;
        }
    }

    /// Until when it may wait; a time that has passed: it must not.
    [[nodiscard]] Instant until() const { return since_ ? *since_ + most_ : Instant::min(); }

  private:
    Duration most_;
    std::optional<Instant> since_;
};

}  // namespace stage::core
