// Names what all stages of a daemon share.
//
// Stages and their parts borrow it; all of it outlives them.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/daemon/base/node_addresses.h"

#include <deque>
#include <string>

namespace stage {

class Children;
class Credentials;
class DataPorts;
class HostPool;
class Logger;
class Loop;
class NodeCache;
class PushPermits;
class StagePlaces;
class UserClosers;
class VerdictStore;
struct Counters;
struct LinkPolicy;

/// The spawner's roles, by number.
inline constexpr std::uint32_t kRoleMunge = 0;
inline constexpr std::uint32_t kRoleSlurmQuery = 1;
inline constexpr std::uint32_t kRoleCacheCopier = 2;
inline constexpr std::uint32_t kRoleClosing = 3;

/// A stage that is over, for `stagecast explain`.
struct EndedStage {
    StageKey key;
    std::uint32_t uid = 0;
    std::string explanation;  ///< JSON.
};
/// Stages that are remembered; beyond that the oldest are dropped first.
inline constexpr std::size_t kMaxEnded = 256;

struct Services {
    Loop& loop;
    const Logger& log;
    const Config& config;
    Counters& counters;
    Children& children;
    HostPool& hosts;
    VerdictStore& verdicts;
    LinkPolicy& links;
    Credentials& credentials;
    NodeCache& cache;
    UserClosers& closers;
    StagePlaces& places;
    PushPermits& push_permits;
    DataPorts& ports;
    NodeAddresses addresses{};
    std::deque<EndedStage> ended{};
};

}  // namespace stage
