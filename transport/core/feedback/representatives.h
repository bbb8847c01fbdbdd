// Chooses the receivers that report on the stream: the representatives.
//
// In a small group all receivers are. In a larger one the source draws some at random, because
// an even choice of ranks may follow racks, chassis or kinds of nodes, and names them in its
// OFFERs. It draws another in place of one that cannot represent any more (it failed, holds the
// object, or is outside the multicast group) or that is silent, and names the new set in its
// DESCRIBEs.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

#include <functional>
#include <optional>
#include <vector>

namespace stage::core {

/// The number of representatives.
[[nodiscard]] std::uint32_t representatives_of(const CoreConfig& config,
                                               const FeedbackLimits& limits);
/// True if all receivers are representatives, and none is named.
[[nodiscard]] bool are_all_representatives(const CoreConfig& config,
                                           const FeedbackLimits& limits);

class Representatives {
  public:
    /// `prng` must outlive this.
    Representatives(const CoreConfig& config, const FeedbackLimits& limits, Prng& prng);

    [[nodiscard]] bool has(Rank rank) const;
    /// Ascending; all receivers in a small group.
    [[nodiscard]] std::vector<Rank> ranks() const;
    /// What packets say of them; nothing if all receivers are.
    [[nodiscard]] const std::optional<wire::Representatives>& named() const { return named_; }

    void on_report(Instant now, Rank from);
    /// The stream begins: from now on silence counts.
    void start(Instant now);
    /// Replaces those that cannot represent, and the silent ones. True if the set changed.
    [[nodiscard]] bool poll(Instant now, const std::function<bool(Rank)>& can_represent);
    [[nodiscard]] std::optional<Instant> deadline() const { return look_at_; }
    void stop() { look_at_.reset(); }

  private:
    struct Member {
        Rank rank;
        Instant heard_at{};
    };

    [[nodiscard]] std::optional<Rank> draw(const std::function<bool(Rank)>& can_represent);
    void name();

    CoreConfig config_;
    Duration timeout_;
    std::uint32_t wanted_;
    Prng* prng_;
    std::vector<Member> members_;  ///< By rank; empty if all receivers are.
    std::optional<wire::Representatives> named_;
    std::optional<Instant> look_at_;
};

}  // namespace stage::core
