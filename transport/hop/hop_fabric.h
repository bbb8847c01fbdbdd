// The fabric of a leg: hops over UDP, with TCP beside them (hop_driver.h).
#pragma once

#include "transport/fabric/fabric.h"

namespace stage::hop {

class HopFabric final : public Fabric {
  public:
    [[nodiscard]] std::string_view name() const override { return "hop"; }
    [[nodiscard]] bool has_multicast() const override { return false; }
    [[nodiscard]] Result<Endpoint> open(const EndpointPlan& plan) const override;
    [[nodiscard]] Result<Place> place(Endpoint& own) const override;
    /// A member without a place has WideArea=tcp.
    [[nodiscard]] std::optional<Objection> objection(
        const std::vector<std::vector<std::byte>>& places) const override;
    [[nodiscard]] Result<Joined> join(Endpoint own, const JoinPlan& plan) const override;
};

}  // namespace stage::hop
