// Multicast by InfiniBand's or RoCE's unreliable datagrams as a fabric.
//
// open() opens nothing: the member's own process, as its user, opens the device when it makes
// its card, as MPI programs do.
#pragma once

#include "transport/fabric/fabric.h"
#include "transport/verbs/device.h"

namespace stage::verbs {

class VerbsFabric final : public Fabric {
  public:
    /// `open_port`: the device; tests have others.
    explicit VerbsFabric(OpenPort open_port);

    [[nodiscard]] std::string_view name() const override { return "verbs"; }
    [[nodiscard]] bool has_multicast() const override { return true; }
    [[nodiscard]] Result<Endpoint> open(const EndpointPlan& plan) const override;
    /// Joins the endpoint's group if it is known. A device that can't be used is no error: the
    /// place says why.
    [[nodiscard]] Result<Place> place(Endpoint& own) const override;
    /// All members have a queue pair, of one kind of link and in one partition of one subnet.
    [[nodiscard]] std::optional<Objection> objection(
        const std::vector<std::vector<std::byte>>& places) const override;
    [[nodiscard]] Result<Joined> join(Endpoint own, const JoinPlan& plan) const override;

  private:
    OpenPort open_port_;
};

}  // namespace stage::verbs
