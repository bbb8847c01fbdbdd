// How long may packets of the stream wait for each other?
//
// A receiver that wakes up for every burst of a slow stream pays a switch of processes and four
// system calls for a few packets; at 25 Mbit/s that is most of what it costs. So, as network
// cards do (interrupt moderation), it lets them gather: until `packets` of them should be there
// by the pace of the last ones, at most `at_most`. The kernel's buffer holds them, and has
// noted when each came. Whatever else wakes the loop takes them in, too. Nothing waits at the
// beginning, so that small objects don't. Pure: the clock is the caller's.
#pragma once

#include "transport/base/units.h"

#include <chrono>
#include <cstddef>

namespace stage {

class Moderation {
  public:
    struct Limits {
        std::size_t packets = 16;  ///< Of a wake-up.
        Duration at_most = std::chrono::milliseconds{8};
        /// Not worth a timer: they gather while the last ones are being opened.
        Duration least = std::chrono::microseconds{50};
        std::size_t after = 256;  ///< Packets, of which each is heard at once.
    };

    Moderation() : Moderation{Limits{}} {}
    explicit Moderation(const Limits& limits) : limits_{limits} {}

    /// So many packets of the stream were there, looked for at `now`.
    void on_heard(Instant now, std::size_t packets);

    /// How long from then nobody needs to look; zero: for the first packet.
    [[nodiscard]] Duration patience() const;

  private:
    Limits limits_;
    std::size_t heard_ = 0;
    std::size_t last_ = 0;  ///< Packets, at last_at_.
    Instant last_at_{};
    Duration between_{};  ///< Two packets, smoothed.
};

}  // namespace stage
