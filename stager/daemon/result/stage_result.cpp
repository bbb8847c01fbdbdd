#include "stager/daemon/result/stage_result.h"

#include "stager/daemon/jobs/verdict_store.h"
#include "transport/base/log.h"

#include <utility>

namespace stage {

void StageResult::await(OnVerdict on_verdict) {
    if (is_answered_) {
        on_verdict(*verdict_);
    } else {
        waiting_.push_back(std::move(on_verdict));
    }
}

void StageResult::begin(const std::string& node) {
    is_stored_ = true;
    store(verdict_.value_or(Verdict{
        .state = VerdictState::failed,
        .blame = Blame::node,
        .sentence =
            "node " + node + ": stagecastd was restarted while it staged; submit the job again",
        .stage_dir = {},
        .paths = {}}));
}

void StageResult::set(Verdict verdict, std::optional<Rank> culprit) {
    culprit_ = verdict.state == VerdictState::failed ? culprit : std::nullopt;
    verdict_ = std::move(verdict);
    if (is_stored_) {
        store(*verdict_);
    }
}

void StageResult::answer() {
    is_answered_ = true;
    for (const OnVerdict& call : std::exchange(waiting_, {})) {
        call(*verdict_);
    }
}

void StageResult::store(const Verdict& verdict) const {
    if (!verdicts_.save(key_, verdict, culprit_)) {
        log_.warn("a verdict can't be stored; is RunDir full?", {{"job", key_.job_id}});
    }
}

}  // namespace stage
