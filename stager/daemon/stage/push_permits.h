// Holds the pushes in which this node has agreed to take part.
//
// A push's source asks each node itself, over a link that proves the source's identity: there
// PushFrom is applied, once. A SETUP may come from any node of the control tree, which could
// claim any source. So the source's question contains a token, which only the source and the
// nodes that it asked know, and the plan contains the same one: a SETUP with a token that was
// not granted here is refused.
#pragma once

#include "stager/daemon/tree/plan.h"
#include "transport/base/units.h"

#include <deque>
#include <optional>
#include <string>

namespace stage {

/// Beyond that the oldest are dropped first.
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
    /// Why the plan of `stage` belongs to no granted push, or nothing; then the permit is valid
    /// until release().
    [[nodiscard]] std::optional<std::string> take(const StageKey& stage,
                                                  const StagePlan& plan,
                                                  Instant now);
    /// The stage has ended on this node.
    void release(const StageKey& stage, Instant now);

  private:
    struct Entry {
        PushPermit permit;
        Instant until{};
        std::optional<StageKey> stage{};  ///< The running stage; `until` does not count then.
    };

    void drop_old(Instant now);

    std::deque<Entry> entries_;
};

}  // namespace stage
