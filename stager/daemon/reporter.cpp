#include "stager/daemon/reporter.h"

#include "stager/daemon/base/json_text.h"
#include "stager/messages/stage_traits.h"

namespace stage {
namespace {

using nlohmann::json;

bool is_asked_for(const StatusRequest& request, const StageKey& key) {
    if (request.key.job_id == kWholeJob) {
        return true;
    }
    const bool any_step = request.key.step_id == kWholeJob;
    return key.job_id == request.key.job_id && (any_step || key.step_id == request.key.step_id);
}

json stages_for(std::uint32_t uid, const StatusRequest& request, const Registry& registry) {
    json content = json::array();
    for (const Stage* stage : registry.all()) {
        const bool is_theirs = uid == 0 || stage->uid() == uid;
        if (is_theirs && is_asked_for(request, stage->key()) && stage->is_open()) {
            content.push_back(request.kind == StatusKind::explain ? stage->explanation()
                                                                  : stage->status());
        }
    }
    return content;
}

json ended_for(std::uint32_t uid, const StatusRequest& request, const Services& services) {
    json content = json::array();
    for (const EndedStage& ended : services.ended) {
        const bool is_theirs = uid == 0 || ended.uid == uid;
        if (is_theirs && is_asked_for(request, ended.key)) {
            content.push_back(json::parse(ended.explanation, nullptr, false));
        }
    }
    return content;
}

json pushes_for(std::uint32_t uid, const StatusRequest& request, const Pushes& pushes) {
    json content = json::array();
    for (const PushPart* push : uid == 0 ? pushes.all() : std::vector<const PushPart*>{}) {
        if (is_asked_for(request, push->id())) {
            content.push_back(push->report());
        }
    }
    return content;
}

/// For `stagecast doctor`.
json data_ports_of(const Services& services) {
    const auto& range = services.basics.config.data_port_range;
    std::size_t held = 0;
    for (unsigned port = range.first; port <= range.last; ++port) {
        held += services.ports.is_held(static_cast<std::uint16_t>(port)) ? 1U : 0U;
    }
    return {{"held", held},
            {"taken", services.ports.taken()},
            {"taken_tcp", services.ports.taken_tcp()}};
}

}  // namespace

Report report_for(std::uint32_t uid,
                  const StatusRequest& request,
                  const Services& services,
                  const Registry& registry,
                  const Pushes& pushes) {
    json content;
    content["stages"] = stages_for(uid, request, registry);
    if (request.kind == StatusKind::explain) {
        content["ended"] = ended_for(uid, request, services);
    } else {
        content["data_ports"] = data_ports_of(services);
        content["pushes"] = pushes_for(uid, request, pushes);
    }
    return report_of(std::move(content));
}

std::string first_node_of(std::uint32_t uid,
                          const StatusRequest& request,
                          const Services& services,
                          const Registry& registry) {
    if (request.key.job_id == kWholeJob || !traits_of(request.key).has_job) {
        return {};
    }
    StatusRequest explain = request;
    explain.kind = StatusKind::explain;
    json all = stages_for(uid, explain, registry);
    for (const json& ended : ended_for(uid, explain, services)) {
        all.push_back(ended);
    }
    for (const json& one : all) {
        if (one.is_object() && !one.value("is_root", true)) {
            return one.value("root", "");
        }
    }
    return {};
}

bool mentions_stages(const std::string& report) {
    const json content = json::parse(report, nullptr, false);
    if (!content.is_object()) {
        return false;
    }
    const auto has = [&](const char* list) {
        const auto found = content.find(list);
        return found != content.end() && found->is_array() && !found->empty();
    };
    return has("stages") || has("ended");
}

}  // namespace stage
