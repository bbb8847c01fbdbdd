// How do bytes pass through the gate?
//
// Both ways, as they come, with a bounded piece under way in each; the end of one side is
// passed on to the other when all before it has been. Knows nothing of what the bytes mean.
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
    /// Two stream sockets that do not block.
    Relay(UniqueFd one, UniqueFd two);

    /// What to poll for: [0] and [1] are the two sides; a side that has nothing to do is -1.
    void watch(std::span<pollfd, 2> watched) const;
    /// Moves what can be moved. False: both ways have ended, or one is broken.
    [[nodiscard]] bool attend();

  private:
    /// One way.
    struct Way {
        std::array<std::byte, 32U << 10U> room{};
        std::size_t first = 0;  ///< Of what is held.
        std::size_t last = 0;
        bool ended = false;   ///< Nothing more will be read ...
        bool closed = false;  ///< ... and the other side was told.

        [[nodiscard]] bool holds() const { return first < last; }
    };
    [[nodiscard]] static bool move(Way& way, int from, int into);

    UniqueFd one_;
    UniqueFd two_;
    Way there_;
    Way back_;
};

}  // namespace stage::pmix_host
