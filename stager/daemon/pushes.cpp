#include "stager/daemon/pushes.h"

#include "stager/daemon/base/json_text.h"
#include "stager/daemon/gateway/leg_push.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// The parts go on at the same time; what they say of nodes adds up.
nlohmann::json report_of_all(const std::vector<std::unique_ptr<PushPart>>& parts) {
    nlohmann::json all = parts.front()->report();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto one = parts[i]->report();
        for (const char* const sum : {"nodes", "done", "unchanged"}) {
            all[sum] = all.value(sum, 0U) + one.value(sum, 0U);
        }
        all["rounds"] = std::max(all.value("rounds", 0U), one.value("rounds", 0U));
        all["seconds"] = std::max(all.value("seconds", 0.0), one.value("seconds", 0.0));
        for (const char* const list : {"failed", "accepted"}) {
            for (const auto& each : one.value(list, nlohmann::json::array())) {
                all[list].push_back(each);
            }
        }
        if (all.value("why", "").empty()) {
            all["why"] = one.value("why", "");
        }
    }
    return all;
}

}  // namespace

void Pushes::on_request(Asker asker, const PushRequest& request, Answer answer) {
    if (pushes_.size() >= kMaxPushes) {
        answer(Refused{.blame = Blame::node,
                       .sentence = std::to_string(kMaxPushes) +
                                   " pushes are running on this node; wait for one to end"});
        return;
    }
    const auto clusters =
        targets_by_cluster(request.node_list, services_.basics.config.cluster_name);
    if (!clusters) {
        answer(Refused{.blame = Blame::user, .sentence = clusters.error().sentence()});
        return;
    }
    Entry& entry = pushes_[asker];
    entry.answer = std::move(answer);
    for (const ClusterTargets& targets : *clusters) {
        entry.parts.push_back(part_of(request, targets, asker));
    }
    entry.open = entry.parts.size();
    for (const auto& part : entry.parts) {
        part->begin();
    }
}

std::unique_ptr<PushPart> Pushes::part_of(const PushRequest& request,
                                          const ClusterTargets& targets,
                                          Asker asker) {
    PushRequest own = request;
    own.node_list = targets.nodes;
    const auto on_done = [this, asker] { this->on_done(asker); };
    if (targets.cluster.empty()) {
        return std::make_unique<Push>(services_, registry_, std::move(own), on_done);
    }
    return std::make_unique<LegPush>(
        services_, registry_, std::move(own), targets.cluster, on_done);
}

void Pushes::on_gone(Asker asker) {
    const auto found = pushes_.find(asker);
    if (found != pushes_.end()) {
        for (const auto& part : found->second.parts) {
            part->cancel("stagecast push was interrupted");
        }
    }
}

void Pushes::on_done(Asker asker) {
    const auto found = pushes_.find(asker);
    if (found == pushes_.end() || --found->second.open > 0) {
        return;
    }
    const Entry entry = std::exchange(found->second, {});
    pushes_.erase(found);
    entry.answer(report_of(report_of_all(entry.parts)));
}

const PushPart* Pushes::find(const StageKey& id) const {
    for (const PushPart* const part : all()) {
        if (part->id() == id) {
            return part;
        }
    }
    return nullptr;
}

std::vector<const PushPart*> Pushes::all() const {
    std::vector<const PushPart*> all;
    for (const auto& [asker, entry] : pushes_) {
        for (const auto& part : entry.parts) {
            all.push_back(part.get());
        }
    }
    return all;
}

}  // namespace stage
