// Says what happens next to a stage on one node.
//
// A table of state and event, every pair of them filled in: what cannot happen is answered like
// what may be ignored, and nothing can leave a stage hanging that way, because `failed`,
// `verdict` and `end` lead on from every state that waits. stage.h does what the table says.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stage {

enum class StageState : unsigned char {
    fresh,      ///< Nothing known.
    announced,  ///< The plugin was here; the plan is not. The root resolves addresses now.
    held,       ///< The plan is here; the plugin was not. Nothing may start.
    starting,   ///< Both: directory, sockets, PMIx host, worker are being made.
    running,    ///< The worker has its setup.
    reported,   ///< This node has said what it came to, and waits for the others.
    settled,    ///< The verdict is stored and answered. A worker may still serve its peers.
    ended,      ///< The job is over here; nothing is kept.
};
inline constexpr std::size_t kStageStates = 8;

enum class StageEvent : unsigned char {
    announce,  ///< STAGE from the local plugin.
    plan,      ///< SETUP from above; at the root, the addresses.
    started,   ///< The worker has its setup.
    done,      ///< The worker's outcome: ok or partial.
    failed,    ///< Something on this node that ends the stage, its reason at hand.
    gone,      ///< The worker's process has exited.
    verdict,   ///< The group's.
    end,       ///< END from the local plugin, the daemon's own end, or the job no more.
};
inline constexpr std::size_t kStageEvents = 8;

enum class StageAction : unsigned char {
    nothing,
    await_plan,      ///< Root: resolve the nodes' addresses. Others: wait, bounded.
    hold,            ///< Wait for the plugin, bounded.
    start,           ///< Compare digests, then make what the worker needs.
    report_outcome,  ///< Up the tree.
    report_failure,  ///< Up the tree; stop the worker.
    give_up,         ///< There is no tree to tell: settle alone.
    settle,          ///< Store, answer whoever waits; a failed verdict stops the worker.
    answer,          ///< The verdict is known: say it.
    abandon,         ///< Report, settle as failed, then clean up.
    clean_up,        ///< Remove directory, verdict, processes.
};

struct StageStep {
    StageState next;
    StageAction action;

    constexpr bool operator==(const StageStep&) const = default;
};

[[nodiscard]] StageStep next_step(StageState state, StageEvent event);

/// Its verdict is not known yet.
[[nodiscard]] constexpr bool is_open(StageState state) {
    return state != StageState::settled && state != StageState::ended;
}

[[nodiscard]] std::string_view to_string(StageState state);
[[nodiscard]] std::string_view to_string(StageEvent event);

}  // namespace stage
