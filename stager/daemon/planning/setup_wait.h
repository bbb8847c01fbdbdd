// Decides what a node does that waits in vain for the SETUP of its job's first node.
//
// It asks that node's daemon, which may know why: the stage waits for a place there, or no
// plugin has announced the job there. In that case the job would run on the first node without
// its files; the few nodes of the lowest ranks have it cancelled.
//
// Pure: the time is an argument, and what is to be done is the result of each call.
#pragma once

#include "stager/daemon/planning/root_probe.h"
#include "stager/daemon/planning/time_limits.h"

#include <optional>
#include <string>
#include <variant>

namespace stage {

inline constexpr const char* kUnannounced =
    "stagecast.so has not announced the job; is it in plugstack.conf there, and can it be "
    "loaded?";

namespace setup_wait {

/// Wait, then call on_late().
struct WaitUntil {
    Instant until;
};
/// Ask the first node, and call on_answer(); or on_late(), if `until` comes first.
struct AskFirstNode {
    Instant until;
};
/// The job is cancelled with `reason`, then the stage fails as by Fail{kUnannounced}.
struct CancelJob {
    std::string reason;
};
/// The stage fails, by a node's fault.
struct Fail {
    std::string sentence;
    bool is_first_nodes = false;  ///< It is the first node that the message names.
};
using Step = std::variant<WaitUntil, AskFirstNode, CancelJob, Fail>;

/// What bounds the wait.
struct Times {
    Instant now{};
    Instant announced{};          ///< The plugin was here.
    Duration announce_timeout{};  ///< AnnounceTimeout
    StageLimits limits{};
};

}  // namespace setup_wait

class SetupWait {
  public:
    /// The first node's name, and this node's rank.
    SetupWait(std::string first, Rank self) : first_{std::move(first)}, self_{self} {}

    /// The time of the last step is over. `is_address_known`: the first node's, here.
    [[nodiscard]] setup_wait::Step on_late(const setup_wait::Times& times,
                                           bool is_address_known);
    /// The first node's daemon has answered, or does not.
    [[nodiscard]] setup_wait::Step on_answer(const setup_wait::Times& times,
                                             RootProbe::Said said,
                                             const std::string& why);

    [[nodiscard]] const std::string& first_node() const { return first_; }
    /// The first node has said so, last.
    [[nodiscard]] bool is_first_queued() const { return is_first_queued_; }

  private:
    [[nodiscard]] bool may_cancel() const;

    std::string first_;
    Rank self_;
    bool has_asked_ = false;
    bool is_first_queued_ = false;
};

}  // namespace stage
