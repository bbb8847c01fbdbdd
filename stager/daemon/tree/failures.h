// Several nodes failed: what does the user read?
//
// The lowest rank's sentence, and who else with why: one line, the same on every node, whatever
// order the reports came in. Only a few are kept in full; of a thousand nodes that fail the
// same way the first says it all.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <string>
#include <vector>

namespace stage {

struct Failure {
    Rank rank;  ///< The node it happened on, not the one that noticed.
    Blame blame = Blame::internal;
    std::string sentence;  ///< Without the node's name: "/shared/x: No space left on device".

    bool operator==(const Failure&) const = default;
};

/// Nodes whose sentences are kept and travel.
inline constexpr std::size_t kMaxNamedFailures = 4;
/// A sentence of one node, bytes; longer ones are cut.
inline constexpr std::size_t kMaxFailureBytes = 900;

class Failures {
  public:
    /// True if it is news worth passing on: the first of its rank, and among the lowest.
    bool add(Failure failure);

    [[nodiscard]] bool empty() const { return named_.empty(); }
    /// By rank, at most kMaxNamedFailures.
    [[nodiscard]] const std::vector<Failure>& named() const { return named_; }
    /// Those that are only counted.
    [[nodiscard]] const std::vector<Rank>& unnamed() const { return unnamed_; }
    /// The lowest rank's.
    [[nodiscard]] Blame blame() const;
    /// That rank.
    [[nodiscard]] Rank culprit() const;
    /// "node n3: SENTENCE (and 1 more node: n5: SENTENCE)". `names` by rank.
    [[nodiscard]] std::string sentence(const std::vector<std::string>& names) const;

  private:
    std::vector<Failure> named_;
    std::vector<Rank> unnamed_;  ///< Only counted; bounded by the number of ranks.
};

void put_failures(ByteWriter& writer, const std::vector<Failure>& failures);
[[nodiscard]] std::vector<Failure> take_failures(ByteReader& reader);

/// A blame by its number; fails the reader on any other.
[[nodiscard]] Blame take_blame(ByteReader& reader);

}  // namespace stage
