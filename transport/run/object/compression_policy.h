// Decides whether compressing the next block saves time.
//
// The disk thread reads a block, may compress it, and then waits until the link has taken the
// earlier ones. So a block takes the longer of two times: that of loading it, and that of its
// bytes on the link. Both are estimated, with and without compression, from what the last
// blocks took, and the shorter total is chosen. If the link is not the bottleneck there is
// nothing to gain. One block of each window is compressed to measure the effect. Pure: the
// clock is the caller's.
#pragma once

#include "transport/base/units.h"

#include <cstddef>

namespace stage {

class CompressionPolicy {
  public:
    /// What one block took.
    struct Loaded {
        Instant begin;           ///< When it was requested.
        Instant read;            ///< When it had been read.
        Instant end;             ///< When it had been compressed, if it was.
        std::size_t bytes = 0;   ///< Bytes of the block.
        std::size_t sent = 0;    ///< Bytes that travel.
        bool was_tried = false;  ///< The block was compressed, even if that saved no bytes.
    };

    /// `link`: the known throughput of the link, bytes per second; 0: not known.
    explicit CompressionPolicy(double link_bytes_per_s) : link_{link_bytes_per_s} {}

    [[nodiscard]] bool wants_next() const { return is_on_ || blocks_ == 0; }
    void tell(const Loaded& block);

    [[nodiscard]] bool is_on() const { return is_on_; }

  private:
    void decide(Instant now);
    void begin_window(Instant now);

    double link_;            ///< Bytes per second, 0: not known.
    double ratio_ = 1;       ///< Bytes left of each byte, of the blocks compressed last.
    double shortening_ = 0;  ///< Seconds for each byte to compress, measured alike.
    bool is_known_ = false;  ///< The two above were measured.
    bool is_on_ = false;

    // In this window:
    std::size_t blocks_ = 0;
    Instant since_{};
    Instant last_end_{};
    Duration waited_{};
    Duration reading_{};
    Duration trying_{};
    double bytes_ = 0;
    double sent_ = 0;
    double tried_ = 0;
    double left_ = 0;  ///< Compressed share of the blocks tried.
};

}  // namespace stage
