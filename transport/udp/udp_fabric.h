// Multicast by UDP as a fabric: its sockets, and what a member's card says of them.
#pragma once

#include "transport/fabric/fabric.h"

namespace stage::udp {

/// The smallest MTU that an interface may have, bytes: what IPv6 requires of every link (RFC
/// 8200, section 5).
inline constexpr std::uint32_t kMinMtu = 1280;

class UdpFabric final : public Fabric {
  public:
    [[nodiscard]] std::string_view name() const override { return "udp"; }
    [[nodiscard]] bool has_multicast() const override { return true; }
    [[nodiscard]] Result<Endpoint> open(const EndpointPlan& plan) const override;
    /// Fails (Blame::node) if an interface is gone, or its MTU is below kMinMtu.
    [[nodiscard]] Result<Place> place(Endpoint& own) const override;
    [[nodiscard]] Result<Joined> join(Endpoint own, const JoinPlan& plan) const override;
};

}  // namespace stage::udp
