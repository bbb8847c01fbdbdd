// The fabrics in which the members of a broadcast reach each other, in the order of use.
//
// A member's card has a place in each fabric in which it has an endpoint. The broadcast begins
// in the first one, which all members must have, and a hand-over goes on in the next.
#pragma once

#include "pmix/business_card.h"
#include "transport/fabric/fabric.h"
#include "transport/settings/scheme.h"

#include <vector>

namespace stage {

class Network {
  public:
    Network() = default;

    /// `plan` lacks what join() adds. Fails (Blame::node) if a member does not begin in the
    /// source's first fabric.
    [[nodiscard]] static Result<Network> among(const CardTable& cards,
                                               std::vector<Endpoint> own,
                                               JoinPlan plan);

    /// Whether the broadcast begins as a relay.
    [[nodiscard]] bool relays() const { return !lines_.front().fabric->has_multicast(); }

    /// Joins in the next fabric. `rate_max`: bytes per second, 0: no limit. Fails
    /// (Blame::internal) if no fabric is left.
    [[nodiscard]] Result<Joined> join(const Scheme& scheme, std::uint64_t rate_max);

  private:
    struct Line {
        const Fabric* fabric;
        Endpoint endpoint;
        std::vector<std::vector<std::byte>> places;
    };

    JoinPlan plan_;
    std::vector<Line> lines_;
};

}  // namespace stage
