// Which members?
//
// A bit each; as runs on the wire. Adding twice is harmless, so that a set can be told again by
// anyone.
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
    /// Of ranks below `members`.
    explicit RankSet(std::uint32_t members)
        : members_{members}, words_((members + 63U) / 64U) {}

    [[nodiscard]] std::uint32_t members() const { return members_; }
    [[nodiscard]] std::uint32_t count() const { return count_; }
    [[nodiscard]] bool is_full() const { return count_ == members_; }
    [[nodiscard]] bool has(Rank rank) const;

    /// True if it was not there. A rank that is no member's is ignored.
    bool add(Rank rank);
    /// How many were new.
    std::uint32_t add(std::span<const wire::RankRun> runs);
    void clear();

    /// Everything in `other` is here. Requires the same members.
    [[nodiscard]] bool covers(const RankSet& other) const;
    /// The lowest rank that is not here.
    [[nodiscard]] std::optional<Rank> first_absent() const;
    /// All that are not here, in at most `runs_max` runs; where these are too few, some who are
    /// here are among them.
    [[nodiscard]] std::vector<wire::RankRun> absent(std::size_t runs_max) const;

    /// The first `runs_max` runs of what is here and not in `except`.
    [[nodiscard]] std::vector<wire::RankRun> runs(std::size_t runs_max,
                                                  const RankSet& except) const;

  private:
    std::uint32_t members_;
    std::uint32_t count_ = 0;
    std::vector<std::uint64_t> words_;
};

}  // namespace stage::core
