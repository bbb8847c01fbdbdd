// Composes a worker's command line, setup and sockets.
//
// They combine the plugin's request (user, files), the root's plan (members, key) and this
// node's configuration (limits). The worker sees nothing else.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/tree/plan.h"
#include "stager/messages/worker_setup.h"
#include "stager/spawn/request.h"
#include "transport/fabric/fabric.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stage {

/// A part in what goes from one cluster to another: a leg that brings the object, a stage that
/// carries it on, or the source of a leg.
struct RunPassage {
    std::shared_ptr<const UniqueFd> file;  ///< Passage::make(); null: the source's.
    WorkerPurpose purpose = WorkerPurpose::pass_on;
    /// The worker's, in place of the request's: at a gateway one without rights, at a source
    /// the user whose files they are.
    UserIdentity user;
};

/// A node's part of a stage.
struct RunOrder {
    StageRequest request;
    StagePlan plan;
    Rank self;
    Instant deadline;
    /// The worker's sockets may be on a port that the daemon holds; else on the ports open to
    /// all only.
    bool has_held_port = false;
    std::optional<RunPassage> passage{};
};

/// The place in which the worker works.
struct RunPlace {
    std::string directory;                ///< The job's, absolute.
    std::span<const Endpoint> endpoints;  ///< Borrowed.
    Instant now;
};

/// Sets what this node allows the stage of `setup.key`: places, owners, bytes and the cache.
void allow(const Config& config, WorkerSetup& setup);

[[nodiscard]] WorkerSetup worker_setup(const Config& config,
                                       const RunOrder& order,
                                       const RunPlace& place);

/// `environment`: the variables that the PMIx host requires.
[[nodiscard]] ProgramRequest worker_program(const Config& config,
                                            const StageRequest& request,
                                            std::vector<std::string> environment);

/// Ordered by the descriptor numbers in the worker (messages/worker_setup.h).
[[nodiscard]] std::vector<int> descriptors_of(std::span<const Endpoint> endpoints,
                                              const std::optional<RunPassage>& passage);

/// "42.job.0", "42.3.0": names the processes of a stage.
[[nodiscard]] std::string process_group_name(const StageKey& key);

}  // namespace stage
