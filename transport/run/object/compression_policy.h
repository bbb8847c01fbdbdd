// Is it worth it to compress the next block?
//
// Whoever loads blocks reads, maybe compresses, and then waits until the link has taken what
// came before. So the time of a block is the longer of two: that of loading it, and that of its
// bytes on the link. Both ways are reckoned from what the last blocks took, and the shorter one
// is chosen; where the link is not the slower part there is nothing to gain. One block of each
// window is compressed to see what it would bring. Pure: the clock is the caller's.
#pragma once

#include "transport/base/units.h"

#include <cstddef>

namespace stage {

class CompressionPolicy {
  public:
    /// What one block took.
    struct Loaded {
        Instant begin;           ///< When it was asked for,
        Instant read;            ///< was there,
        Instant end;             ///< and was compressed, if it was.
        std::size_t bytes = 0;   ///< Of the block.
        std::size_t sent = 0;    ///< What the link gets of it.
        bool was_tried = false;  ///< Compressed, whether or not that was worth it.
    };

    /// `link`: what the link is known to take, bytes per second; 0: not known.
    explicit CompressionPolicy(double link_bytes_per_s) : link_{link_bytes_per_s} {}

    [[nodiscard]] bool wants_next() const { return is_on_ || blocks_ == 0; }
    void tell(const Loaded& block);

    [[nodiscard]] bool is_on() const { return is_on_; }

  private:
    void decide(Instant now);
    void begin_window(Instant now);

    double link_;            ///< Bytes per second, 0: not known.
    double ratio_ = 1;       ///< What is left of a byte,
    double shortening_ = 0;  ///< and what that takes, seconds a byte; of the blocks tried last.
    bool is_known_ = false;  ///< Those two are.
    bool is_on_ = false;

    // Of this window:
    std::size_t blocks_ = 0;
    Instant since_{};
    Instant last_end_{};
    Duration waited_{};
    Duration reading_{};
    Duration trying_{};
    double bytes_ = 0;
    double sent_ = 0;
    double tried_ = 0;
    double left_ = 0;  ///< Of what was tried.
};

}  // namespace stage
