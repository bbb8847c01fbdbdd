// Ends a receiver's part in the broadcast.
//
// It ends by the source's RELEASE, by its own failure, which it repeats to the source by LEAVE
// until RELEASE arrives, or because the source is silent. A member with children in the ACK
// tree then stays a moment, to pass RELEASE on to children that missed it.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/repeater.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

/// What RELEASE and LEAVE carry of an error: its message, cut to the length that fits.
[[nodiscard]] std::string why_of(const Error& error);
/// Converts a blame to Ending::outcome and back.
[[nodiscard]] std::uint8_t outcome_of(Blame blame);
[[nodiscard]] Blame blame_of(std::uint8_t outcome);

class MemberEnding {
  public:
    MemberEnding(const CoreConfig& config, const EndingLimits& limits, bool has_children);

    /// This member cannot go on: starts LEAVE.
    void on_failure(Instant now, const Error& why);
    /// RELEASE arrived. It is passed on to members that ask later. A member of a small group
    /// confirms it, so that the source need not stay; every member, if the group goes on by a
    /// relay, for which this member leaves at once.
    void on_release(Instant now, const wire::Ending& release, ControlQueue& out);
    /// A member that should know the end sent something: answers with RELEASE, if it is known.
    void answer(Rank from, ControlQueue& out) const;

    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    CoreConfig config_;
    EndingLimits limits_;
    bool has_children_;
    Repeater leaving_;
    std::optional<wire::Ending> leave_;
    std::optional<wire::Ending> release_;
    std::optional<Instant> stays_until_;
};

}  // namespace stage::core
