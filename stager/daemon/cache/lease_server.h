// Other nodes want to know who reads a file: what do they hear from this one?
//
// For the files whose keeper this node is (cache/keeper_choice.h) it holds the table
// (cache/node_leases.h). One link an asker and a file: whoever hangs up, or is silent for as
// long as ConnectTimeout lets it, has left.
#pragma once

#include "stager/cache/fair_places.h"
#include "stager/cache/node_leases.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <map>
#include <memory>

namespace stage {

/// Askers at one time, shared out by user; one more is turned away, and reads.
inline constexpr std::size_t kLeaseAskersMax = 4096;
/// Both ends say that they are there.
inline constexpr Duration kLeasePulse = std::chrono::seconds{1};

class LeaseServer {
  public:
    /// `services` outlives it.
    explicit LeaseServer(Services& services) : services_{services} {}

    void on_lease(const LeaseMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Guest {
        std::unique_ptr<DrivenLink> link;
        std::uint32_t uid = 0;
        std::unique_ptr<Alarm> pulse;
        std::unique_ptr<Alarm> silence;
    };

    void on_change(NodeLeases::Asker asker);
    [[nodiscard]] bool take_frame(NodeLeases::Asker asker);
    void hear(Guest& guest);
    void pulse(NodeLeases::Asker asker);
    void say(const NodeLeases::Words& words);
    void remove(NodeLeases::Asker asker);

    Services& services_;
    NodeLeases leases_;
    std::map<NodeLeases::Asker, Guest> guests_;
    FairPlaces places_{kLeaseAskersMax};
    NodeLeases::Asker last_ = 0;
};

}  // namespace stage
