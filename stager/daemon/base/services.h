// What does every stage of this daemon share?
//
// Borrowed by stages and by the parts of a stage; all of it outlives them.
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "transport/base/units.h"

#include <deque>
#include <string>
#include <unordered_map>

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

/// A stage that is over, for `stagecast explain`.
struct EndedStage {
    StageKey key;
    std::uint32_t uid = 0;
    std::string explanation;  ///< JSON.
};
/// More are forgotten, the oldest first.
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
    std::unordered_map<std::string, std::string>
        addresses{};  ///< Of nodes, as Slurm last gave them; bounded by the cluster.
    std::unordered_map<std::string, Instant>
        addressed{};  ///< When it did so; a node that could not be reached is left out.
    std::deque<EndedStage> ended{};
};

}  // namespace stage
