// Keeps the verdicts of stages that other daemons set up here and no plugin has announced.
//
// The plugin may come later than the verdict; then this is its answer. Of a job that is not
// this node's it never comes, so a node remembers few of them, for a while: key and verdict
// only.
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
    /// More are forgotten, the oldest first.
    static constexpr std::size_t kMax = 1000;
    /// Bytes of a verdict's sentence that are kept.
    static constexpr std::size_t kMaxSentence = 1000;

    struct Entry {
        StageKey key;
        Verdict verdict;
        std::optional<Rank> culprit;  ///< Of the verdict, if it is another node.
        Instant until;                ///< Forgotten then.
    };

    void add(Entry entry, Instant now);
    /// Until the next call of add() or remove(), or nullptr.
    [[nodiscard]] const Entry* find(const StageKey& key, Instant now) const;
    void remove(const StageKey& key);
    /// All of a job, or of one step of it.
    void remove_job(std::uint32_t job_id, std::uint32_t step_id);

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] const std::deque<Entry>& all() const { return entries_; }

  private:
    std::deque<Entry> entries_;
};

}  // namespace stage
