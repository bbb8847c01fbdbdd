#include "stager/daemon/heirs.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"
#include "stager/daemon/job_directory.h"
#include "stager/spawn/kept_lists.h"

#include <string>

namespace stage {
namespace {

constexpr std::size_t kBytesMax = kSpawnRequestMax / 2;
/// Each counts at least so much, so that there are no more than a request may list.
constexpr std::size_t kEach = 16;
constexpr const char* kAllPaths = "/";

/// Of the paths, those that lie outside of the stage's directory.
std::vector<std::string> outside_of(const Verdict& verdict) {
    std::vector<std::string> outside;
    for (const std::string& path : verdict.paths) {
        if (path == verdict.stage_dir) {  // For all that a list named.
            outside.emplace_back(kAllPaths);
        } else if (!path.empty() && !path.starts_with(verdict.stage_dir + '/')) {
            outside.push_back(path);
        }
    }
    return outside;
}

void add_outside(const StageSpec& spec, std::vector<std::string>& outside) {
    if (spec.is_list) {
        outside.emplace_back(kAllPaths);
        return;
    }
    const Result<Destination> destination = destination_of(spec);
    if (destination && destination->is_absolute) {
        outside.push_back(destination->path);
        if (spec.is_with_libraries) {
            outside.push_back(destination->path + std::string{kLibrariesSuffix});
        }
    }
}

bool has_room(const RemoveRequest& what, const std::vector<std::string>& more) {
    std::size_t bytes = 0;
    for (const auto* some : {&what.used, &what.heirs, &more}) {
        for (const std::string& text : *some) {
            bytes += text.size() + kEach;
        }
    }
    return bytes <= kBytesMax;
}

void add_heir(RemoveRequest& what, const StageKey& key, const std::vector<std::string>& paths) {
    const std::string name = kept_name(directory_names(key.job_id, key.step_id));
    if (!has_room(what, paths) || what.used == std::vector<std::string>{kAllPaths}) {
        what.used = {kAllPaths};
    } else {
        what.used.insert(what.used.end(), paths.begin(), paths.end());
    }
    if (has_room(what, {name})) {  // Else others inherit, and ask again when they end.
        what.heirs.push_back(name);
    }
}

}  // namespace

std::vector<std::string> outside_of(std::string_view specs) {
    std::vector<std::string> outside;
    const Result<std::vector<StageSpec>> parsed = parse_serialized(specs);
    for (const StageSpec& spec : parsed ? *parsed : std::vector<StageSpec>{}) {
        add_outside(spec, outside);
    }
    return outside;
}

void find_heirs(const VerdictStore& verdicts,
                const std::vector<OpenStage>& open,
                int root,
                const EndingStage& ending,
                RemoveRequest& what) {
    const auto ends_too = [&](const StageKey& key) {
        return key.job_id == ending.job_id &&
               (ending.step_id == kWholeJob || key.step_id == ending.step_id);
    };
    for (const OpenStage& one : open) {
        if (!ends_too(one.key) && one.uid == what.user.uid && !one.paths.empty()) {
            add_heir(what, one.key, one.paths);
        }
    }
    for (const StageKey& key : verdicts.all()) {
        const auto verdict = ends_too(key) ? std::nullopt : verdicts.load(key);
        if (!verdict || verdict->state > VerdictState::partial) {
            continue;
        }
        const std::vector<std::string> paths = outside_of(*verdict);
        if (paths.empty()) {
            continue;
        }
        const auto owner = owner_of(root, key.job_id);
        if (owner && owner->uid == what.user.uid) {
            add_heir(what, key, paths);
        }
    }
}

}  // namespace stage
