// Reports up the ACK tree which members hold the object.
//
// The tree needs no setup: a member's ancestors follow from its rank. A member that holds the
// object sends DONE to its parent, with all ranks that it knows to hold it. DONE carries a set,
// so repeating it is harmless. If a parent does not answer, DONE goes to the next ancestor, and
// at last to the source. An acknowledged set is sent again from time to time, because the
// parent may have failed since.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

/// The ACK tree. The source is at place 0 and the others follow cyclically in rank order; the
/// parent of place p is at (p - 1) / degree.
struct CompletionTree {
    std::uint32_t members;
    Rank source;
    std::uint32_t degree;

    [[nodiscard]] std::uint32_t place(Rank rank) const {
        return (rank.value() + members - source.value()) % members;
    }
    [[nodiscard]] Rank at(std::uint32_t place) const {
        return Rank{static_cast<std::uint16_t>((place + source.value()) % members)};
    }
    /// The ancestor `level` steps above the parent, or the source beyond that. Requires that
    /// rank is not the source.
    [[nodiscard]] Rank ancestor(Rank rank, std::uint32_t level) const;
    [[nodiscard]] bool has_children(Rank rank) const {
        return std::uint64_t{place(rank)} * degree + 1 < members;
    }
};

class DoneReporter {
  public:
    DoneReporter(const CoreConfig& config, const EndingLimits& limits);

    /// This member holds the object.
    void on_held(Instant now);
    /// A DONE of a child arrived. The caller answers it with DONE_ACK.
    void on_done(Instant now, const wire::Done& done);
    void on_ack(Instant now, Rank from, const wire::Done& ack);

    void poll(Instant now, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }
    void stop() { next_at_.reset(); }

    [[nodiscard]] const RankSet& known() const { return known_; }

  private:
    void on_growth(Instant now);
    void begin_tries();
    [[nodiscard]] Rank listener() const { return tree_.ancestor(own_, level_); }

    EndingLimits limits_;
    Rank own_;
    CompletionTree tree_;
    RankSet known_;
    RankSet acked_;  ///< What the present listener has acknowledged of `known_`.
    std::uint32_t level_ = 0;
    std::uint32_t tries_ = 0;
    Duration gap_;
    /// When the next try is due. Empty: the next DONE is not a retry.
    std::optional<Instant> retry_at_;
    std::optional<Instant> next_at_;
    std::optional<Instant> said_at_;
};

}  // namespace stage::core
