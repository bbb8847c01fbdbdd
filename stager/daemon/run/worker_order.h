// What is a worker started with, and what is it told first?
//
// Out of three mouths: the plugin (whose, what), the root's plan (with whom, by which key),
// this node's configuration (how much of it). The worker sees nothing else.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/run/data_sockets.h"
#include "stager/daemon/tree/plan.h"
#include "stager/messages/worker_setup.h"
#include "stager/spawn/request.h"

#include <string>
#include <vector>

namespace stage {

/// A node's part of a stage.
struct RunOrder {
    StageRequest request;
    StagePlan plan;
    Rank self;
    Instant deadline;
};

/// Where it takes place.
struct RunPlace {
    std::string directory;                ///< The job's, absolute.
    std::vector<std::string> interfaces;  ///< That its sockets were opened on.
    Instant now;
};

[[nodiscard]] WorkerSetup worker_setup(const Config& config,
                                       const RunOrder& order,
                                       const RunPlace& place);

/// `environment`: what its PMIx host wants it to have.
[[nodiscard]] ProgramRequest worker_program(const Config& config,
                                            const StageRequest& request,
                                            std::vector<std::string> environment);

/// In the order of their numbers in the worker (messages/worker_setup.h).
[[nodiscard]] std::vector<int> worker_sockets(const DataSockets& sockets);

/// "42.job.0", "42.3.0": names the processes of a stage.
[[nodiscard]] std::string process_group_name(const StageKey& key);

}  // namespace stage
