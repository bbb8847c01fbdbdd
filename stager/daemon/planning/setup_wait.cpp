#include "stager/daemon/planning/setup_wait.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

using namespace setup_wait;

/// Nodes of these ranks cancel a job whose first node does not know of it; more need not.
constexpr std::size_t kCancellingRanks = 3;
/// AnnounceTimeouts until a first node whose stage is queued is asked again.
constexpr int kQueuedFactor = 3;

}  // namespace

bool SetupWait::may_cancel() const {
    return self_.index() < kCancellingRanks;
}

Step SetupWait::on_late(const Times& times, bool is_address_known) {
    const TimeLimits& ends = times.limits.ends;
    if (is_first_queued_ && times.now >= times.announced + ends.work) {
        return Fail{.sentence =
                        "no place for this stage became free there (MaxStagesPerNode) "
                        "within " +
                        times.limits.words + "; submit it again",
                    .is_first_nodes = true};
    }
    if (std::exchange(has_asked_, true)) {
        return Fail{"no word from the job's first node within " + times.limits.words};
    }
    if (!may_cancel() && !is_address_known) {
        // Slurm would have to be asked, by thousands; the few before this one do.
        return Fail{"no word from node " + first_ + ", the job's first"};
    }
    // What is left must do: the answer, or none.
    return AskFirstNode{times.announced + ends.verdict};
}

Step SetupWait::on_answer(const Times& times, RootProbe::Said said, const std::string& why) {
    const bool was_queued = std::exchange(is_first_queued_, said == RootProbe::Said::queued);
    const bool may_still_come = was_queued && said == RootProbe::Said::announced;
    if (is_first_queued_ || may_still_come) {
        // It is asked again, lest it has died; the SETUP comes unasked.
        has_asked_ = false;
        const Duration pause = kQueuedFactor * times.announce_timeout;
        return WaitUntil{std::min(times.now + pause, times.announced + times.limits.ends.work)};
    }
    if (said == RootProbe::Said::unannounced) {
        return may_cancel() ? Step{CancelJob{"node " + first_ + ": " + kUnannounced}}
                            : Step{Fail{.sentence = kUnannounced, .is_first_nodes = true}};
    }
    if (said == RootProbe::Said::announced) {
        return Fail{"stagecastd of node " + first_ +
                    " knows of the job and has not reached this node; its log says why, or "
                    "Port does not let it through to here"};
    }
    return Fail{"no word from node " + first_ + ", the job's first (" + why + ")"};
}

}  // namespace stage
