// Decides which node reads a file from its source, and tells the others where to fetch it.
//
// The daemon holds the lease table (cache/node_leases.h) of the files whose lease server this
// node is (cache/lease_server_choice.h). Each asking node has one link for each file: a node
// that closes it, or is silent for longer than ConnectTimeout allows, has given up.
#pragma once

#include "stager/cache/fair_places.h"
#include "stager/cache/node_leases.h"
#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <map>
#include <memory>

namespace stage {

/// Askers at one time, shared out among users; one more is disconnected, and reads for itself.
inline constexpr std::size_t kLeaseAskersMax = 4096;
/// Both ends send PULSE at this interval.
inline constexpr Duration kLeasePulse = std::chrono::seconds{1};

class LeaseServer {
  public:
    /// `basics` outlives the object.
    explicit LeaseServer(const Basics& basics) : basics_{basics} {}

    void on_lease(const LeaseMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct AskerLink {
        std::unique_ptr<DrivenLink> link;
        std::uint32_t uid = 0;
        std::unique_ptr<Alarm> pulse;
        std::unique_ptr<Alarm> silence;
    };

    void on_change(NodeLeases::Asker asker);
    [[nodiscard]] bool take_frame(NodeLeases::Asker asker);
    void restart_silence(AskerLink& asker_link);
    void pulse(NodeLeases::Asker asker);
    void say(const NodeLeases::Words& words);
    void remove(NodeLeases::Asker asker);

    const Basics& basics_;
    NodeLeases leases_;
    std::map<NodeLeases::Asker, AskerLink> asker_links_;
    FairPlaces places_{kLeaseAskersMax};
    NodeLeases::Asker last_ = 0;
};

}  // namespace stage
