// A set of members: one bit for each rank in memory, runs on the wire. Adding a rank twice is
// harmless, so any member may send a set again.
#pragma once

#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stage::core {

class RankSet {
  public:
    /// For ranks below `members`.
    explicit RankSet(std::uint32_t members)
        : members_{members}, words_((members + 63U) / 64U) {}

    [[nodiscard]] std::uint32_t members() const { return members_; }
    [[nodiscard]] std::uint32_t count() const { return count_; }
    [[nodiscard]] bool is_full() const { return count_ == members_; }
    [[nodiscard]] bool has(Rank rank) const;

    /// True if the rank was not in the set. A rank beyond the group is ignored.
    bool add(Rank rank);
    /// Returns how many were new.
    std::uint32_t add(std::span<const wire::RankRun> runs);
    void clear();

    /// True if this set contains `other`. Requires the same number of members.
    [[nodiscard]] bool covers(const RankSet& other) const;
    /// The lowest rank that is not in the set.
    [[nodiscard]] std::optional<Rank> first_absent() const;
    /// All ranks that are not in the set, in at most `runs_max` runs. If these are too few, the
    /// last run covers ranks that are in the set, too.
    [[nodiscard]] std::vector<wire::RankRun> absent(std::size_t runs_max) const;

    /// The first `runs_max` runs of the ranks that are in this set and not in `except`.
    [[nodiscard]] std::vector<wire::RankRun> runs(std::size_t runs_max,
                                                  const RankSet& except) const;

  private:
    std::uint32_t members_;
    std::uint32_t count_ = 0;
    std::vector<std::uint64_t> words_;
};

}  // namespace stage::core
