#include "stager/daemon/heirs.h"

#include "stager/control/spec_list.h"
#include "stager/daemon/job_directory.h"
#include "stager/spawn/kept_lists.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kBytesMax = kSpawnRequestMax / 2;
/// Each counts at least so much, so that there are no more than a request may list.
constexpr std::size_t kEach = 16;
constexpr const char* kAllPaths = "/";

bool is_user_of(const Result<Owner>& owner, const RemoveRequest& what) {
    return owner && owner->uid == what.user.uid;
}

/// Of the paths, those that lie outside of the stage's directory.
std::vector<std::string> outside(const Verdict& verdict) {
    std::vector<std::string> paths;
    for (const std::string& path : verdict.paths) {
        if (!path.empty() && !path.starts_with(verdict.stage_dir + '/')) {
            paths.push_back(path);
        }
    }
    return paths;
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

bool may_lie_outside(std::string_view specs) {
    const Result<std::vector<StageSpec>> parsed = parse_serialized(specs);
    return !parsed || std::ranges::any_of(*parsed, [](const StageSpec& spec) {
        return spec.is_list || spec.destination.starts_with('/');
    });
}

void find_heirs(const VerdictStore& verdicts,
                const OpenStages& open,
                int root,
                const EndingStage& ending,
                RemoveRequest& what) {
    const auto ends_too = [&](const StageKey& key) {
        return key.job_id == ending.job_id &&
               (ending.step_id == kWholeJob || key.step_id == ending.step_id);
    };
    const auto is_heir = [&](const StageKey& key) {
        return !ends_too(key) && is_user_of(owner_of(root, key.job_id), what);
    };
    for (const StageKey& key : open) {
        if (is_heir(key)) {
            what.heirs.push_back(kept_name(directory_names(key.job_id, key.step_id)));
            what.used = {kAllPaths};
        }
    }
    for (const StageKey& key : verdicts.all()) {
        const auto verdict = ends_too(key) ? std::nullopt : verdicts.load(key);
        if (!verdict || verdict->state > VerdictState::partial) {
            continue;
        }
        std::vector<std::string> paths = outside(*verdict);
        if (!paths.empty() && is_heir(key)) {
            what.heirs.push_back(kept_name(directory_names(key.job_id, key.step_id)));
            add_used(what.used, std::move(paths));
        }
    }
}

}  // namespace stage
