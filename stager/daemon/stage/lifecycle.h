// Defines the states of a stage on one node and the transitions between them.
//
// The table has an entry for every pair of state and event: an event that cannot happen is
// treated like one that may be ignored. No stage can hang because of that, because `failed`,
// `verdict` and `end` lead on from every state that waits. stage.h carries out the actions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stage {

enum class StageState : unsigned char {
    fresh,      ///< Nothing is known.
    announced,  ///< The plugin has announced the stage; the root resolves addresses now.
    held,       ///< The plan has arrived, the announcement has not. Nothing may start.
    starting,   ///< Both are here: directory, sockets, PMIx host and worker are being made.
    running,    ///< The worker has its setup.
    reported,   ///< This node has reported its outcome, and waits for the others.
    settled,    ///< The verdict is stored and answered. A worker may still serve its peers.
    ended,      ///< The job is over on this node; nothing is kept.
};
inline constexpr std::size_t kStageStates = 8;

enum class StageEvent : unsigned char {
    announce,  ///< STAGE from the local plugin.
    plan,      ///< SETUP from an ancestor; at the root, the addresses.
    started,   ///< The worker has its setup.
    done,      ///< The worker's outcome: ok or partial.
    failed,    ///< A failure on this node that ends the stage, with its reason.
    gone,      ///< The worker's process has exited.
    verdict,   ///< The group's verdict.
    end,       ///< END from the local plugin, the daemon's own end, or the job no longer runs.
};
inline constexpr std::size_t kStageEvents = 8;

enum class StageAction : unsigned char {
    nothing,
    await_plan,      ///< Root: resolve the nodes' addresses. Others: wait, bounded.
    hold,            ///< Wait for the plugin, bounded.
    start,           ///< Compare digests, then make what the worker needs.
    report_outcome,  ///< Up the tree.
    report_failure,  ///< Up the tree; stop the worker.
    give_up,         ///< There is no tree to report to: settle alone.
    settle,          ///< Store it, answer the waiting requests; a failure stops the worker.
    answer,          ///< The verdict is known: answer with it.
    abandon,         ///< Report, settle as failed, then clean up.
    clean_up,        ///< Remove directory, verdict, processes.
};

struct StageStep {
    StageState next;
    StageAction action;

    constexpr bool operator==(const StageStep&) const = default;
};

[[nodiscard]] StageStep next_step(StageState state, StageEvent event);

/// Whether the verdict is not known yet.
[[nodiscard]] constexpr bool is_open(StageState state) {
    return state != StageState::settled && state != StageState::ended;
}

[[nodiscard]] std::string_view to_string(StageState state);
[[nodiscard]] std::string_view to_string(StageEvent event);

}  // namespace stage
