#include "stager/daemon/heirs.h"

#include "stager/daemon/job_directory.h"
#include "stager/spawn/kept_lists.h"

#include <string>
#include <vector>

namespace stage {
namespace {

constexpr std::size_t kBytesMax = kSpawnRequestMax / 2;
/// Each counts at least so much, so that there are no more than a request may list.
constexpr std::size_t kEach = 16;

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

}  // namespace

void find_heirs(const VerdictStore& verdicts,
                int root,
                const EndingStage& ending,
                RemoveRequest& what) {
    std::size_t bytes = 0;
    for (const StageKey& key : verdicts.all()) {
        const bool ends_too = key.job_id == ending.job_id &&
                              (ending.step_id == kWholeJob || key.step_id == ending.step_id);
        const auto verdict = ends_too ? std::nullopt : verdicts.load(key);
        if (!verdict || verdict->state > VerdictState::partial) {
            continue;
        }
        const std::vector<std::string> paths = outside(*verdict);
        if (paths.empty() || !is_user_of(owner_of(root, key.job_id), what)) {
            continue;
        }
        what.heirs.push_back(kept_name(directory_names(key.job_id, key.step_id)));
        for (const std::string& path : paths) {
            bytes += path.size() + kEach;
            if (bytes <= kBytesMax) {
                what.used.push_back(path);
            }
        }
    }
}

}  // namespace stage
