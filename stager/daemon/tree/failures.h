// Collects the failures of a stage's nodes and makes one message of them.
//
// The message is the lowest rank's sentence, followed by the other nodes with their reasons:
// one line, the same on every node, in whatever order the reports arrived. Only a few are kept
// in full; of a thousand nodes that fail in the same way the first is enough.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct Failure {
    Rank rank;  ///< The node that failed, not the one that noticed.
    Blame blame = Blame::internal;
    std::string sentence;  ///< Without the node's name: "/shared/x: No space left on device".

    bool operator==(const Failure&) const = default;
};

/// Nodes whose sentences are kept and sent.
inline constexpr std::size_t kMaxNamedFailures = 4;
/// Bytes of one node's sentence; a longer one is cut.
inline constexpr std::size_t kMaxFailureBytes = 900;

class Failures {
  public:
    /// True if the failure must be passed on: it is the first of its rank, and among the
    /// lowest.
    bool add(Failure failure);

    [[nodiscard]] bool empty() const { return named_.empty(); }
    [[nodiscard]] std::size_t count() const { return named_.size() + unnamed_.size(); }
    /// By rank, at most kMaxNamedFailures.
    [[nodiscard]] const std::vector<Failure>& named() const { return named_; }
    /// The ranks that are only counted.
    [[nodiscard]] const std::vector<Rank>& unnamed() const { return unnamed_; }
    /// The ranks that failed for a reason that is not the user's. `with_unnamed`: also those
    /// that are only counted, whose reasons are not known.
    [[nodiscard]] std::vector<Rank> at_fault(bool with_unnamed) const;
    /// The ranks at fault in a group of `nodes`, as it seems, without users' errors: none
    /// if more failed than are named, or all but one, which then may be at fault itself.
    [[nodiscard]] std::vector<Rank> suspects(std::size_t nodes) const;
    /// The blame of the lowest rank's failure.
    [[nodiscard]] Blame blame() const;
    /// The lowest rank that failed.
    [[nodiscard]] Rank culprit() const;
    /// "node n3: SENTENCE (and 1 more node: n5: SENTENCE)", or "(the same on every node but
    /// n0)". `names` by rank.
    [[nodiscard]] std::string sentence(const std::vector<std::string>& names) const;

  private:
    [[nodiscard]] std::optional<std::string> only_other(
        const std::vector<std::string>& names) const;

    std::vector<Failure> named_;
    std::vector<Rank> unnamed_;  ///< Bounded by the number of ranks.
};

}  // namespace stage
