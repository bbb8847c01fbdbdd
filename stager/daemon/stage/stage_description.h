// Describes a stage as JSON, for `stagecast status` and `stagecast explain`.
#pragma once

#include "stager/daemon/result/time_line.h"
#include "stager/daemon/stage/lifecycle.h"
#include "stager/daemon/tree/gather.h"
#include "stager/daemon/tree/plan.h"
#include "stager/daemon/tree/tree_message.h"
#include "stager/messages/worker_setup.h"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace stage {

/// What one node knows of a stage; borrowed.
struct StageView {
    StageKey key;
    StageState state = StageState::fresh;
    bool is_queued = false;
    const StageTimes& times;
    Instant now{};
    const WorkerProgress* progress = nullptr;   ///< The progress of the worker here, or null.
    const StagePlan* plan = nullptr;            ///< Where it is known.
    Rank self{};                                ///< With a plan.
    TreeProgress group{};                       ///< The progress of all nodes, at the root.
    const std::vector<Contribution>& outcomes;  ///< At the root: what each node reported.
    const Verdict* verdict = nullptr;           ///< Where it is known.
    std::vector<std::string> dropped{};         ///< The nodes that the others went on without.
    std::string
        gateway{};  ///< At the first node: that of another cluster which sends the files.
};

/// How the files went over the network: the members "transport", "transport_why" and more of
/// the explanation. Empty before there is a plan.
[[nodiscard]] nlohmann::json transport_of(const StageView& view);
/// How far it is.
[[nodiscard]] nlohmann::json status_of(const StageView& view);
/// How far it is, for the job's user: "staging, after 30 s: 12.0 GB of 30.0 GB are on
/// all 64 nodes, 1.1 GB/s, 17 s to go, slowest n17".
[[nodiscard]] std::string progress_sentence(const StageView& view);
/// Where its time went.
[[nodiscard]] nlohmann::json explanation_of(const StageView& view);

}  // namespace stage
