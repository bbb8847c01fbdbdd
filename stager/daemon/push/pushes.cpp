#include "stager/daemon/push/pushes.h"

#include "stager/daemon/base/json_text.h"

#include <utility>

namespace stage {

void Pushes::on_request(Asker asker, const PushRequest& request, Answer answer) {
    if (pushes_.size() >= kMaxPushes) {
        answer(Refused{.blame = Blame::node,
                       .sentence = std::to_string(kMaxPushes) +
                                   " pushes are running on this node; wait for one to end"});
        return;
    }
    Entry& entry = pushes_[asker];
    entry.answer = std::move(answer);
    entry.push = std::make_unique<Push>(
        services_, static_cast<PushStages&>(*this), request, [this, asker] { on_done(asker); });
    entry.push->begin();
}

void Pushes::on_gone(Asker asker) {
    const auto found = pushes_.find(asker);
    if (found != pushes_.end()) {
        found->second.push->cancel("stagecast push was interrupted");
    }
}

void Pushes::on_done(Asker asker) {
    const auto found = pushes_.find(asker);
    if (found == pushes_.end()) {
        return;
    }
    const Entry entry = std::exchange(found->second, {});
    pushes_.erase(found);
    entry.answer(report_of(entry.push->report()));
}

const Push* Pushes::find(const StageKey& id) const {
    for (const auto& [asker, entry] : pushes_) {
        if (entry.push->id() == id) {
            return entry.push.get();
        }
    }
    return nullptr;
}

std::vector<const Push*> Pushes::all() const {
    std::vector<const Push*> all;
    for (const auto& [asker, entry] : pushes_) {
        all.push_back(entry.push.get());
    }
    return all;
}

void Pushes::push(const StageKey& key, const StagePlan& plan, Stage::OnVerdict on_verdict) {
    registry_.push(key, plan, std::move(on_verdict));
}

Stage* Pushes::find(const StageKey& key) {
    return registry_.find(key);
}

}  // namespace stage
