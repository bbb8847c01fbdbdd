// Ends the broadcast at the source: collects failures and DONE, and repeats RELEASE.
//
// Once the result is known RELEASE goes to the group, again and again for a while, and to each
// member that still sends something. The source may go when every member has confirmed it.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/sending/control_queue.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage::core {

class SourceEnding {
  public:
    SourceEnding(const CoreConfig& config, const EndingLimits& limits);

    /// A member cannot hold the object. The first failure decides, unless failed receivers are
    /// dropped; that of a receiver that is done does not count.
    void fail(Rank culprit, Blame blame, std::string why);
    /// The receivers that were dropped since the last call.
    [[nodiscard]] std::vector<Rank> take_dropped() { return std::exchange(dropped_, {}); }
    /// A failure ends the broadcast, or has ended it.
    [[nodiscard]] bool has_failed() const { return result_.failure().has_value(); }
    void on_done(std::span<const wire::RankRun> ranks) { result_.on_done(ranks); }
    void on_done(Rank rank) { result_.on_done(rank); }
    [[nodiscard]] const RankSet& done() const { return result_.done(); }
    /// The members that no member waits for: done or dropped.
    [[nodiscard]] const RankSet& settled() const { return result_.settled(); }
    [[nodiscard]] std::vector<DroppedMember> dropped() const { return result_.dropped(); }

    /// Null until the result is known; then RELEASE starts, and its content is returned once.
    /// `is_held`: the source's own copy is complete, whatever ranks a DONE lists.
    [[nodiscard]] const wire::Ending* decide(Instant now, bool is_held);
    /// RELEASE names these, and is repeated to each of them by unicast, too.
    void name_unreached(std::vector<Rank> ranks) { unreached_ = std::move(ranks); }
    /// The broadcast goes on by a relay, as RELEASE states from now on. Requires that nothing
    /// was decided.
    void hand_over(Instant now);
    /// The blame of the failure that decided.
    [[nodiscard]] Blame blame() const { return blame_; }
    /// Members that are not in `ready`, or were dropped, may not hear the group: a few get
    /// RELEASE by unicast.
    void release_unresponsive(const RankSet& ready, ControlQueue& out) const;
    /// A packet after the decision. A member that acknowledged RELEASE needs nothing more;
    /// others get RELEASE again.
    void on_late(const Datagram& datagram, ControlQueue& out);

    void poll(Instant now, ControlQueue& out);
    /// Nothing before the decision, and after the last RELEASE.
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    void begin(Instant now, wire::Ending release);

    CoreConfig config_;
    Duration stays_;
    BroadcastResult result_;
    Blame blame_ = Blame::user;
    Repeater release_;
    std::optional<wire::Ending> released_;
    std::optional<Instant> stays_until_;
    RankSet confirmed_;  ///< Members that acknowledged RELEASE, or were dropped.
    std::vector<Rank> dropped_;
    std::vector<Rank> unreached_;
};

}  // namespace stage::core
