// Decides how long packets of the stream may wait for each other in the socket.
//
// A receiver that wakes up for every burst of a slow stream pays a context switch and four
// system calls for a few packets; at 25 Mbit/s that is most of its CPU time. So it lets packets
// gather, like a network card's interrupt moderation: until `packets` of them should have
// arrived at the pace of the last ones, at most `at_most`. The kernel's buffer holds them and
// has stamped their arrivals. Anything else that wakes the loop reads them, too. At the
// beginning nothing waits, so that small objects are not delayed. Pure: the clock is the
// caller's.
#pragma once

#include "transport/base/units.h"

#include <chrono>
#include <cstddef>

namespace stage {

class Moderation {
  public:
    struct Limits {
        std::size_t packets = 16;  ///< For each wake-up.
        Duration at_most = std::chrono::milliseconds{8};
        /// A shorter wait is not worth a timer: packets gather while the last ones are opened.
        Duration least = std::chrono::microseconds{50};
        /// The number of packets that are each read at once, before packets gather.
        std::size_t after = 256;
    };

    Moderation() : Moderation{Limits{}} {}
    explicit Moderation(const Limits& limits) : limits_{limits} {}

    /// This number of packets of the stream was found at `now`.
    void on_heard(Instant now, std::size_t packets);

    /// How long after that the stream need not be read; zero: until its next packet.
    [[nodiscard]] Duration wait_max() const;

  private:
    Limits limits_;
    std::size_t heard_ = 0;
    std::size_t last_ = 0;  ///< Packets, at last_at_.
    Instant last_at_{};
    Duration between_{};  ///< Time between two packets, smoothed.
};

}  // namespace stage
