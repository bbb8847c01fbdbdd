// Sends blocks to the members that are connected to this one as its children.
//
// A child requests blocks, each from one of its chunks on. It gets them in ascending order, as
// soon as this member has the next chunk, whether or not the rest of the block has arrived:
// descriptor first, then chunks. A block that is no longer in memory is read back. Only as much
// is sent as the child's connection takes, so that a slow child delays nothing but itself.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/relay/relay_limits.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/operation_queue.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace stage::core {

class RelayChildren {
  public:
    /// Serves the stripe that goes by `flow`. `holdings` and `pool` must outlive this.
    RelayChildren(const CoreConfig& config,
                  Flow flow,
                  const RelayLimits& limits,
                  const Holdings& holdings,
                  BufferPool& pool);

    /// A READY arrived: the member is a child, and its connection takes packets.
    void on_ready(Instant now, Rank child);
    /// What this member can never give is answered with LACKING.
    void on_request(Rank child, const wire::Request& request, ControlQueue& out);
    /// This member has learnt which blocks it held before: a child that requested one of them
    /// earlier gets LACKING now.
    void on_begun(ControlQueue& out);
    void on_link(Instant now, const LinkEvent& event);
    void on_heard(Instant now, Rank child);
    /// This member was away for that long: its children are not to blame.
    void forgive(Instant now, Duration absence);
    /// Forgets the children that were not heard for this long, and closes their connections.
    void expire(Instant now, Duration timeout, OperationQueue& operations);
    /// Closes all connections: the children go to their next ancestors.
    void dismiss(OperationQueue& operations);
    /// A child reported how many blocks its part of the tree holds, and who is in it.
    void on_pulse(Rank child, const wire::Pulse& pulse);
    /// A child confirmed RELEASE.
    void on_confirmed(Rank child) { forget(child); }

    /// Queues loads of blocks that have to be read back.
    void order_loads(OperationQueue& operations, std::uint64_t& next_ticket);
    /// True if order_loads() would queue a load.
    [[nodiscard]] bool wants_loads() const;
    /// A load ended. A child whose block cannot be read gets LACKING.
    void on_loaded(BlockIndex block, bool is_good, ControlQueue& out);

    /// Sends as far as connections and batch allow.
    void fill(SendBatch& batch, Numbering& numbers);
    /// True if fill() would send something.
    [[nodiscard]] bool can_send() const;
    void tell(wire::PacketType type,
              Rank child,
              std::vector<std::byte> body,
              ControlQueue& out) const;
    void tell_all(wire::PacketType type,
                  const std::vector<std::byte>& body,
                  ControlQueue& out) const;
    /// A child for which this member has nothing yet of what it requested hears that, too.
    void tell_pulse(const wire::Pulse& pulse, ControlQueue& out) const;

    [[nodiscard]] bool has(Rank child) const { return children_.contains(child); }
    [[nodiscard]] bool is_empty() const { return children_.empty(); }
    /// True if every child confirmed RELEASE. One whose connection ended instead may come back
    /// for it; and where one was lost shortly before, its own children may be on their way.
    [[nodiscard]] bool have_all_confirmed() const { return children_.empty() && !has_lost_; }
    /// The end of the blocks that children have requested so far; 0: none.
    [[nodiscard]] std::uint32_t requested_below() const { return requested_below_; }
    /// What the child that is furthest waits for; nothing if there is none, or one waits for no
    /// block.
    [[nodiscard]] std::optional<BlockIndex> front() const;
    /// True if a child waits for a block for which `is_missing` is true.
    template <class Predicate>
    [[nodiscard]] bool waits_for(const Predicate& is_missing) const {
        return std::ranges::any_of(children_, [&is_missing](const auto& each) {
            return !each.second.wanted.empty() && is_missing(each.second.wanted.begin()->first);
        });
    }
    /// The sum of what the children reported; modulo 2^32.
    [[nodiscard]] std::uint32_t blocks_held() const;
    /// The sum of the most that each member reported that was ever a child: it grows only where
    /// a member gains a block, not where one connects again.
    [[nodiscard]] std::uint64_t gained() const;
    /// Adds the members that are connected, to this member or below. False if a child cannot
    /// say who is below it.
    [[nodiscard]] bool add_joined(RankSet& joined) const;
    /// No block is sent any more.
    void stop(Instant now);
    /// The longest RTT to a child so far.
    [[nodiscard]] Duration round_trip() const { return round_trip_; }

  private:
    struct Child {
        /// By block: the first chunk that is still to be sent.
        std::map<BlockIndex, std::uint32_t> wanted;
        std::optional<BlockIndex> current;  ///< In `wanted`, resident and pinned.
        bool is_described = false;          ///< The current block's descriptor was sent.
        bool is_ready = true;               ///< Its connection takes more.
        std::uint32_t blocks_held = 0;
        std::vector<wire::RankRun> joined{};
        bool has_said = false;  ///< By a PULSE.
        std::uint64_t last_number = 0;
        Instant heard_at{};
    };

    [[nodiscard]] bool is_hole(BlockIndex block) const;
    [[nodiscard]] bool is_here(BlockIndex block) const;
    [[nodiscard]] bool can_serve(BlockIndex block, std::uint32_t chunk) const;
    [[nodiscard]] std::optional<BlockIndex> next_of(const Child& child) const;
    [[nodiscard]] bool can_send(const Child& child) const;
    [[nodiscard]] bool serve(Rank rank, Child& child, SendBatch& batch, Numbering& numbers);
    void describe(Rank rank, Child& child, SendBatch& batch, Numbering& numbers);
    std::uint32_t send_run(Rank rank, Child& child, SendBatch& batch, Numbering& numbers);
    void leave_block(Child& child);
    void forget(Rank child);
    void tell_lacking(Rank child,
                      BlockIndex block,
                      std::uint32_t chunk,
                      ControlQueue& out) const;

    Flow flow_;
    RelayLimits limits_;
    std::uint32_t run_max_;  ///< Chunks in one send.
    const Holdings& holdings_;
    BufferPool& pool_;
    std::map<Rank, Child> children_;
    std::map<Rank, std::uint64_t> gained_;  ///< By the PULSEs of present and former children.
    std::vector<BlockIndex> loading_;
    std::uint32_t requested_below_ = 0;
    Duration round_trip_{};
    bool is_stopped_ = false;
    std::optional<Instant> lost_at_;  ///< When the connection of a child ended last.
    bool has_lost_ = false;           ///< A child, since it was stopped or shortly before.
};

}  // namespace stage::core
