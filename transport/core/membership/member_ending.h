// How does a receiving member end?
//
// By the source's RELEASE, by its own failure, which it tells the source until that answers, or
// by the source's silence. Afterwards a member with others below it in the completion tree
// stays a moment to tell them the end, in case they missed it.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/repeater.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

/// What RELEASE and LEAVE carry of an error: its sentence, cut to what fits.
[[nodiscard]] std::string why_of(const Error& error);
/// Ending::outcome of such a failure, and back.
[[nodiscard]] std::uint8_t outcome_of(Blame blame);
[[nodiscard]] Blame blame_of(std::uint8_t outcome);

class MemberEnding {
  public:
    MemberEnding(const CoreConfig& config, const EndingLimits& limits, bool has_children);

    /// This member can't go on: tells the source.
    void on_failure(Instant now, const Error& why);
    /// The end was told. `told` is passed on to those who ask late; a small group's member
    /// confirms it, so that the source need not stay.
    void on_release(Instant now, const wire::Ending& told, ControlQueue& out);
    /// Somebody who should know it by now says something: tell the end again, if it is known.
    void answer(Rank from, ControlQueue& out) const;

    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    CoreConfig config_;
    EndingLimits limits_;
    bool has_children_;
    Repeater leaving_;
    std::optional<wire::Ending> leave_;
    std::optional<wire::Ending> told_;
    std::optional<Instant> stays_until_;
};

}  // namespace stage::core
