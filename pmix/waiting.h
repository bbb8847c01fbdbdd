// How much patience is left?
//
// A Patience whose clock has started: the one place in pmix/ that reads one and polls.
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

    explicit Waiting(const Patience& patience)
        : patience_{patience}, until_{Clock::now() + patience.longest} {}

    enum class Woken : unsigned char {
        ready,        ///< One of the descriptors is.
        paused,       ///< `at_most` is over.
        interrupted,  ///< Patience::interrupt_fd said so.
        over,         ///< No patience is left.
    };
    /// poll(), with what ends it. Of several reasons the first in the list above counts, but an
    /// interruption before all. Descriptors of -1 are passed over.
    [[nodiscard]] Woken wait(std::span<pollfd> watched, Milliseconds at_most);

    [[nodiscard]] bool is_over() const { return Clock::now() >= until_; }
    /// "`doing`: no answer within 30 s" (ETIMEDOUT), or ": interrupted" (ECANCELED).
    [[nodiscard]] Error error(Woken woken, const std::string& doing) const;
    /// "30 s", all of it.
    [[nodiscard]] std::string in_words() const;

  private:
    Patience patience_;
    Clock::time_point until_;
};

}  // namespace stage
