// Copies bytes both ways between two stream sockets.
//
// Each way holds a bounded buffer. When one side closes, the other is shut down after the
// buffered bytes are written. The bytes are not interpreted.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <poll.h>

#include <array>
#include <span>

namespace stage::pmix_host {

class Relay {
  public:
    /// Requires two non-blocking stream sockets.
    Relay(UniqueFd one, UniqueFd two);

    /// Sets what to poll: [0] and [1] are the two sides; a side that has nothing to do is -1.
    void watch(std::span<pollfd, 2> watched) const;
    /// Copies what is possible without blocking. False: both ways have ended, or one is broken.
    [[nodiscard]] bool attend();

  private:
    /// One direction.
    struct Way {
        std::array<std::byte, 32U << 10U> room{};
        std::size_t first = 0;  ///< Start of the buffered bytes.
        std::size_t last = 0;
        bool ended = false;   ///< The reading side has closed ...
        bool closed = false;  ///< ... and the writing side was shut down.

        [[nodiscard]] bool holds() const { return first < last; }
    };
    [[nodiscard]] static bool move(Way& way, int from, int into);

    UniqueFd one_;
    UniqueFd two_;
    Way there_;
    Way back_;
};

}  // namespace stage::pmix_host
