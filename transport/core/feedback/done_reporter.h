// How does the source learn who is done?
//
// Up a tree that nobody sets up: a member's ancestors are arithmetic on its rank. Who holds the
// object tells its parent, with everyone below who said so too; a set, so that saying it twice
// is harmless. A parent that doesn't answer is passed over for the next ancestor, at last the
// source; and a set is said again now and then even when it was acknowledged, because the
// parent may have died since.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

/// The completion tree: the source is at place 0, the others in rank order behind it,
/// cyclically; the parent of place p is at (p - 1) / degree.
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
    /// The ancestor `level` steps above the parent; the source beyond that. Requires that rank
    /// is not the source.
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
    /// A member below said who is done. Gives what it is to be answered.
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
    RankSet acked_;  ///< Of `known_`, what the present listener has confirmed.
    std::uint32_t level_ = 0;
    std::uint32_t tries_ = 0;
    Duration gap_;
    std::optional<Instant> retry_at_;  ///< Then the next try is due; else the next word is one.
    std::optional<Instant> next_at_;
    std::optional<Instant> said_at_;
};

}  // namespace stage::core
