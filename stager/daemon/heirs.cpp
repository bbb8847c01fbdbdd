#include "stager/daemon/heirs.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"
#include "stager/daemon/job_directory.h"
#include "stager/spawn/kept_lists.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stage {
namespace {

/// Of paths and of heirs, each.
constexpr std::size_t kBytesMax = kSpawnRequestMax / 8 * 3;
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

/// Fills a request, as far as it has room.
class Heirs {
  public:
    explicit Heirs(RemoveRequest& what) : what_{what} {}

    void add(const StageKey& key, const std::vector<std::string>& paths) {
        for (const std::string& path : paths) {
            if (has_room(path, used_bytes_)) {
                what_.used.push_back(path);
            } else {
                what_.used = {kAllPaths};
            }
        }
        std::string name = kept_name(directory_names(key.job_id, key.step_id));
        if (has_room(name, heirs_bytes_)) {  // Else others inherit, and ask when they end.
            what_.heirs.push_back(std::move(name));
        }
    }

  private:
    /// Once there is none, there is none for shorter ones.
    [[nodiscard]] static bool has_room(const std::string& text, std::size_t& bytes) {
        bytes = std::min(bytes + text.size() + kEach, kBytesMax + 1);
        return bytes <= kBytesMax;
    }

    RemoveRequest& what_;
    std::size_t used_bytes_ = 0;
    std::size_t heirs_bytes_ = 0;
};

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
    Heirs heirs{what};
    const auto ends_too = [&](const StageKey& key) {
        return key.job_id == ending.job_id &&
               (ending.step_id == kWholeJob || key.step_id == ending.step_id);
    };
    for (const OpenStage& one : open) {
        if (!ends_too(one.key) && one.uid == what.user.uid && !one.paths.empty()) {
            heirs.add(one.key, one.paths);
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
            heirs.add(key, paths);
        }
    }
}

}  // namespace stage
