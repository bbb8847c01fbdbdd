#include "stager/daemon/push_rules.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"
#include "transport/base/root_directory.h"

#include <algorithm>

namespace stage {
namespace {

bool lies_below(const std::string& path, const std::string& root) {
    const std::string bare = root == "/" ? "" : root;
    return path.size() > bare.size() + 1 && path.starts_with(bare) && path[bare.size()] == '/';
}

std::string joined(const std::vector<std::string>& roots) {
    std::string text;
    for (const std::string& root : roots) {
        text += (text.empty() ? "" : ", ") + root;
    }
    return text;
}

}  // namespace

std::optional<std::string> objection_to_push(const Config& config, const std::string& specs) {
    if (!config.enabled) {
        return "staging is switched off here (Enabled=no in stagecast.conf)";
    }
    if (config.push_roots.empty()) {
        return "PushRoots in this node's stagecast.conf is empty, so nothing may be pushed "
               "here; name the directories there";
    }
    const auto parsed = parse_serialized(specs);
    if (!parsed) {
        return parsed.error().sentence();
    }
    for (const StageSpec& spec : *parsed) {
        const auto destination = destination_of(spec);
        if (!destination || spec.is_list || !destination->is_absolute) {
            return "a push goes to one absolute destination";
        }
        const bool is_allowed = std::ranges::any_of(
            config.push_roots,
            [&](const std::string& root) { return lies_below(destination->path, root); });
        if (!is_allowed) {
            return destination->path + ": lies below none of this node's PushRoots (" +
                   joined(config.push_roots) + ")";
        }
    }
    return std::nullopt;
}

void warn_of_push_roots(const Config& config, const Logger& log) {
    for (const std::string& root : config.push_roots) {
        if (const auto fit = open_root_directory("PushRoots", root, false); !fit) {
            log.warn("pushes to this directory will be refused",
                     {{"why", fit.error().sentence()}});
        }
    }
}

StageRequest request_of_push(const StageKey& key,
                             const StagePlan& plan,
                             const std::string& name) {
    StageRequest request;
    request.key = key;
    request.node_name = name;
    for (const StagePlan::Node& node : plan.nodes) {
        request.node_list += (request.node_list.empty() ? "" : ",") + node.name;
    }
    request.work_dir = "/";
    request.specs = plan.push_specs;
    return request;
}

}  // namespace stage
