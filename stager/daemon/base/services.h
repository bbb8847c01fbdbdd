// Names what all stages of a daemon share.
//
// The registry, each stage and each push borrow it, and give their parts what those use; all of
// it outlives them.
#pragma once

#include "stager/control/message.h"
#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/node_addresses.h"
#include "stager/spawn/request.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace stage {

class DataPorts;
class DrivenLink;
class HostPool;
class LegPermits;
class LinkDialer;
class NodeCache;
class PushPermits;
class StagePlaces;
class UserClosers;
class VerdictStore;
struct LinkPolicy;
struct SetupMessage;

/// A stage that is over, for `stagecast explain`.
struct EndedStage {
    StageKey key;
    std::uint32_t uid = 0;
    std::string explanation;  ///< JSON.
};
/// Stages that are remembered; beyond that the oldest are dropped first.
inline constexpr std::size_t kMaxEnded = 256;

struct Services {
    const Basics& basics;
    HostPool& hosts;
    VerdictStore& verdicts;
    LinkPolicy& links;
    LinkDialer& dialer;
    NodeCache& cache;
    UserClosers& closers;
    StagePlaces& places;
    PushPermits& push_permits;
    LegPermits& leg_permits;
    DataPorts& ports;
    UserIdentity leg_user{};  ///< For workers that only pass files on: one without rights.
    NodeAddresses addresses{};
    std::deque<EndedStage> ended{};
    /// Takes a SETUP that came over a link of this node's (Registry::on_setup()).
    std::function<void(const SetupMessage&, std::unique_ptr<DrivenLink>)> on_setup{};
};

}  // namespace stage
