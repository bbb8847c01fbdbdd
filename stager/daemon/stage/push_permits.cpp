#include "stager/daemon/stage/push_permits.h"

#include <algorithm>
#include <utility>

namespace stage {

void PushPermits::drop_old(Instant now) {
    std::erase_if(entries_,
                  [now](const Entry& entry) { return !entry.stage && entry.until < now; });
}

void PushPermits::grant(PushPermit permit, Instant now) {
    drop_old(now);
    if (entries_.size() >= kMaxPushPermits) {
        entries_.pop_front();
    }
    entries_.push_back({.permit = std::move(permit), .until = now + kPushPermitMax});
}

std::optional<std::string> PushPermits::take(const StageKey& stage,
                                             const StagePlan& plan,
                                             Instant now) {
    drop_old(now);
    const PushPermit wanted{.token = plan.push_token,
                            .source = plan.nodes.empty() ? "" : plan.nodes.front().name,
                            .specs = plan.push_specs};
    const auto entry = std::ranges::find(entries_, wanted, &Entry::permit);
    if (entry == entries_.end()) {
        return "the source of this push, node " + printable(wanted.source) +
               ", has not asked this node before, or stagecastd was restarted here since; "
               "push again";
    }
    entry->stage = stage;
    return std::nullopt;
}

void PushPermits::release(const StageKey& stage, Instant now) {
    for (Entry& entry : entries_) {
        if (entry.stage == stage) {
            entry.stage.reset();
            entry.until = now + kNextRoundMax;
        }
    }
}

}  // namespace stage
