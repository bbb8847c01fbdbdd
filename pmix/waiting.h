// Tracks how much of a time limit is left while polling descriptors.
//
// It is a WaitLimit whose clock has started: the only place in pmix/ that reads a clock and
// polls.
#pragma once

#include "pmix/directory.h"

#include <poll.h>

#include <chrono>
#include <span>
#include <string>

namespace stage {

class Waiting {
  public:
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds kForever = Milliseconds::max();

    explicit Waiting(const WaitLimit& wait_limit)
        : limit_{wait_limit}, until_{Clock::now() + wait_limit.longest} {}

    enum class Woken : unsigned char {
        ready,        ///< A descriptor is ready.
        paused,       ///< `at_most` has passed.
        interrupted,  ///< WaitLimit::interrupt_fd became readable.
        over,         ///< The time limit has passed.
    };
    /// Calls poll() and returns what ended it. An interruption has precedence, then the order
    /// of the enumerators. Descriptors of -1 are skipped.
    [[nodiscard]] Woken wait(std::span<pollfd> watched, Milliseconds at_most);

    [[nodiscard]] bool is_over() const { return Clock::now() >= until_; }
    /// Makes the error "`doing`: no answer within 30 s" (ETIMEDOUT) or "`doing`: interrupted"
    /// (ECANCELED).
    [[nodiscard]] Error error(Woken woken, const std::string& doing) const;
    /// The whole time limit as text, "30 s".
    [[nodiscard]] std::string in_words() const;

  private:
    WaitLimit limit_;
    Clock::time_point until_;
};

}  // namespace stage
