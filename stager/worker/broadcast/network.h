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

    /// `plan` lacks what join() adds. Fails (Blame::node) if the members do not agree on the
    /// first fabric that all of them can use, or if there is none.
    [[nodiscard]] static Result<Network> among(const CardTable& cards,
                                               std::vector<Endpoint> own,
                                               JoinPlan plan);

    /// Whether the broadcast begins as a relay.
    [[nodiscard]] bool relays() const { return !lines_.front().fabric->has_multicast(); }
    /// The fabrics that the group was to use and does without, each with the reason: "verbs:
    /// rank 3 (n3, 10.77.1.4): this node has no RDMA device".
    [[nodiscard]] const std::vector<std::string>& objections() const { return objections_; }

    /// Joins in the first fabric or, after that, in the next one without multicast. `rate_max`:
    /// bytes per second, 0: no limit. Fails (Blame::internal) if no fabric is left.
    [[nodiscard]] Result<Joined> join(const Scheme& scheme, std::uint64_t rate_max);

  private:
    struct Line {
        const Fabric* fabric;
        Endpoint endpoint;
        std::vector<std::vector<std::byte>> places;
    };

    void erase_multicast();

    JoinPlan plan_;
    std::vector<Line> lines_;
    std::vector<std::string> objections_;
};

}  // namespace stage
