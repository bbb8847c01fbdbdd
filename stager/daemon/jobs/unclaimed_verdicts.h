// Keeps the verdicts of stages that other daemons set up here and no plugin has announced.
//
// The plugin may come later than the verdict, and then receives it as its answer. For a job
// that does not run on this node it never comes, so only few verdicts are kept, for a limited
// time, and only key and verdict of each.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace stage {

class UnclaimedVerdicts {
  public:
    /// Beyond that the oldest are dropped first.
    static constexpr std::size_t kMax = 1000;
    /// Bytes of a verdict's sentence that are kept.
    static constexpr std::size_t kMaxSentence = 1000;

    struct Entry {
        StageKey key;
        Verdict verdict;
        std::optional<Rank> culprit;  ///< The failed node, if it is another one.
        Instant until;                ///< The entry is dropped then.
    };

    void add(Entry entry, Instant now);
    /// Valid until the next call of add() or remove(); null if there is none.
    [[nodiscard]] const Entry* find(const StageKey& key, Instant now) const;
    void remove(const StageKey& key);
    /// Removes all verdicts of a job, or of one of its steps.
    void remove_job(std::uint32_t job_id, std::uint32_t step_id);

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] const std::deque<Entry>& all() const { return entries_; }

  private:
    std::deque<Entry> entries_;
};

}  // namespace stage
