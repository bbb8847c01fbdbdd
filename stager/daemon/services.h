// What does every stage of this daemon share?
//
// Borrowed by stages and by the parts of a stage; all of it outlives them.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/children.h"
#include "stager/daemon/counters.h"
#include "stager/daemon/data_ports.h"
#include "stager/daemon/host_pool.h"
#include "stager/daemon/loop.h"
#include "stager/daemon/node_cache.h"
#include "stager/daemon/push_permits.h"
#include "stager/daemon/stage_places.h"
#include "stager/daemon/verdict_store.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <sys/random.h>

#include <deque>
#include <string>
#include <unordered_map>

namespace stage {

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
    std::unordered_map<std::string, std::string>
        addresses{};  ///< Of nodes, as Slurm last gave them; bounded by the cluster.
    std::unordered_map<std::string, Instant>
        addressed{};  ///< When it did so; a node that could not be reached is left out.
    std::deque<EndedStage> ended{};
    UserClosers closers{};
    StagePlaces places{};
    PushPermits push_permits{};
    DataPorts ports{};
};

/// Fresh from getrandom(): keys, ids, draws.
template <class Value>
[[nodiscard]] Value random_value() {
    Value value{};
    const auto count = ::getrandom(&value, sizeof value, 0);
    invariant(count == static_cast<ssize_t>(sizeof value), "the kernel gives random bytes");
    return value;
}

}  // namespace stage
