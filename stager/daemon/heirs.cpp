#include "stager/daemon/heirs.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"
#include "stager/daemon/job_directory.h"
#include "stager/spawn/kept_lists.h"

#include <iterator>
#include <string>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kBytesMax = kSpawnRequestMax / 2;
/// Each counts at least so much, so that there are no more than a request may list.
constexpr std::size_t kEach = 16;
constexpr const char* kAllPaths = "/";

/// Of the paths, those that lie outside of the stage's directory.
Outside outside_of(const Verdict& verdict) {
    Outside outside;
    for (const std::string& path : verdict.paths) {
        if (path == verdict.stage_dir) {  // All that a list named.
            outside.is_any = true;
        } else if (!path.empty() && !path.starts_with(verdict.stage_dir + '/')) {
            outside.paths.push_back(path);
        }
    }
    outside.is_any |= !outside.paths.empty();
    return outside;
}

void add_used(std::vector<std::string>& used, std::vector<std::string> paths) {
    std::size_t bytes = 0;
    for (const std::vector<std::string>* some : {&used, &paths}) {
        for (const std::string& path : *some) {
            bytes += path.size() + kEach;
        }
    }
    if (bytes > kBytesMax) {
        used = {kAllPaths};
    } else if (used != std::vector<std::string>{kAllPaths}) {
        used.insert(used.end(),
                    std::make_move_iterator(paths.begin()),
                    std::make_move_iterator(paths.end()));
    }
}

}  // namespace

Outside outside_of(std::string_view specs) {
    Outside outside;
    const Result<std::vector<StageSpec>> parsed = parse_serialized(specs);
    for (const StageSpec& spec : parsed ? *parsed : std::vector<StageSpec>{}) {
        const Result<Destination> destination = destination_of(spec);
        if (spec.is_list) {
            outside.is_any = true;
        } else if (destination && destination->is_absolute) {
            outside.paths.push_back(destination->path);
            if (spec.is_with_libraries) {
                outside.paths.push_back(destination->path + std::string{kLibrariesSuffix});
            }
        }
    }
    outside.is_any |= !outside.paths.empty();
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
    const auto add = [&](const StageKey& key, std::vector<std::string> paths) {
        what.heirs.push_back(kept_name(directory_names(key.job_id, key.step_id)));
        add_used(what.used, std::move(paths));
    };
    for (const OpenStage& one : open) {
        if (!ends_too(one.key) && one.uid == what.user.uid) {
            add(one.key, one.paths);
        }
    }
    for (const StageKey& key : verdicts.all()) {
        const auto verdict = ends_too(key) ? std::nullopt : verdicts.load(key);
        if (!verdict || verdict->state > VerdictState::partial) {
            continue;
        }
        Outside outside = outside_of(*verdict);
        if (!outside.is_any) {
            continue;
        }
        const auto owner = owner_of(root, key.job_id);
        if (owner && owner->uid == what.user.uid) {
            add(key, std::move(outside.paths));
        }
    }
}

}  // namespace stage
