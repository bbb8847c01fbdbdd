// TCP from member to member as a fabric: its listener, and what a member's card says of it.
#pragma once

#include "transport/fabric/fabric.h"

namespace stage::tcp {

/// The chunks of a relay, bytes: of a connection no packet is lost, so that each may be long,
/// but a member passes a chunk on when it is whole.
inline constexpr std::uint32_t kChunkBytes = 16U << 10U;

class TcpFabric final : public Fabric {
  public:
    [[nodiscard]] std::string_view name() const override { return "tcp"; }
    [[nodiscard]] bool has_multicast() const override { return false; }
    /// Listens on a port of the supply, or else on any, so that no user can keep a stage from
    /// its port.
    [[nodiscard]] Result<Endpoint> open(const EndpointPlan& plan) const override;
    [[nodiscard]] Result<Place> place(Endpoint& own) const override;
    [[nodiscard]] Result<Joined> join(Endpoint own, const JoinPlan& plan) const override;
};

}  // namespace stage::tcp
