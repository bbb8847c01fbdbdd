// Decides at a relay's source whether the group still makes progress, and which members are to
// blame if it does not.
//
// The group makes progress when a member connects for the first time, gains a block, asks for a
// further one, or holds the object. While no member has connected it has ready_timeout, then
// stall_timeout, and as long as finishing may take once all members hold all blocks.
#pragma once

#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_tree.h"

#include <string>
#include <vector>

namespace stage::core {

class RelayProgress {
  public:
    /// `tree`: the first one. `blocks`: of the object.
    RelayProgress(const CoreConfig& config,
                  const EndingLimits& limits,
                  const RelayTree& tree,
                  std::uint32_t blocks);

    /// The group makes progress, or cannot now.
    void on_moved(Instant now) { moved_at_ = now; }
    /// A member is a child. One that only comes again makes no progress.
    void on_ready(Instant now, Rank child);
    /// The sum of what all members gained (RelayChildren::gained()). The sum of the blocks that
    /// they hold is no measure: it rises again and again where a member that holds some is lost
    /// and comes back.
    void on_gained(Instant now, std::uint64_t gained);
    /// The source was away for that long.
    void forgive(Instant now, Duration away);

    /// Looks what the members hold. `children`: of the first tree.
    void look(Instant now, const RelayChildren& children, const BroadcastResult& result);
    /// After this time without progress the group is stuck.
    [[nodiscard]] Instant deadline() const;
    /// The members that a stuck group waits for: those that are neither done nor connected; if
    /// all of these are connected, they. (A crashed member does not keep the others from their
    /// end: they have another time-out. The source hears late that the end of a long chain is
    /// connected; a member that it takes for lost and that completes is not dropped.)
    [[nodiscard]] std::vector<Rank> stuck(const RelayChildren& children,
                                          const BroadcastResult& result) const;
    /// Why these failed.
    [[nodiscard]] std::string why() const;

  private:
    [[nodiscard]] bool hold_all(const RelayChildren& children,
                                const BroadcastResult& result) const;
    [[nodiscard]] std::uint32_t lost_holders(const RelayChildren& children,
                                             const BroadcastResult& result) const;
    [[nodiscard]] Duration timeout() const;

    CoreConfig config_;
    EndingLimits limits_;
    RelayTree tree_;
    std::uint32_t blocks_;
    RankSet seen_;              ///< Members that were children at some time.
    std::uint64_t gained_ = 0;  ///< By all members, as far as PULSEs said.
    Instant moved_at_{};        ///< When the group made progress.
    bool is_all_held_ = false;  ///< When it was looked last.
    /// When a member that held all was lost first since then, moved by the times for which none
    /// was lost.
    Instant lost_at_{};
    Instant whole_at_{};  ///< When the last one that was lost came back.
};

}  // namespace stage::core
