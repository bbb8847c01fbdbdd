// The pushes that this node has agreed to take part in.
//
// A push's source asks each node itself, over a link whose other end this node sees: there it
// is judged by PushFrom, once. A SETUP may come from any node of the tree, which could claim
// any source. So the source's question has a token, which only it and the nodes that it asked
// know, and its plan has the same one: a SETUP without a token that was granted here is
// refused.
#pragma once

#include "stager/daemon/tree/plan.h"
#include "transport/base/units.h"

#include <deque>
#include <optional>
#include <string>

namespace stage {

/// More are forgotten, the oldest first.
inline constexpr std::size_t kMaxPushPermits = 256;
/// From the question to the first SETUP.
inline constexpr Duration kPushPermitMax = std::chrono::hours{1};
/// From one round's end on this node to the next round's SETUP.
inline constexpr Duration kNextRoundMax = std::chrono::minutes{1};

struct PushPermit {
    PushToken token{};
    std::string source;  ///< The node that asked.
    std::string specs;

    bool operator==(const PushPermit&) const = default;
};

class PushPermits {
  public:
    void grant(PushPermit permit, Instant now);
    /// Why the plan of `stage` belongs to no push that was granted, or nothing. Then the permit
    /// holds until release().
    [[nodiscard]] std::optional<std::string> take(const StageKey& stage,
                                                  const StagePlan& plan,
                                                  Instant now);
    /// The stage is over here.
    void release(const StageKey& stage, Instant now);

  private:
    struct Entry {
        PushPermit permit;
        Instant until{};
        std::optional<StageKey> stage{};  ///< That is under way; `until` does not count then.
    };

    void drop_old(Instant now);

    std::deque<Entry> entries_;
};

}  // namespace stage
