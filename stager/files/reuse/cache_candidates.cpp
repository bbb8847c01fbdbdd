#include "stager/files/reuse/cache_candidates.h"

#include "stager/disk/spare_room.h"
#include "stager/files/reuse/kept_form.h"

#include <optional>
#include <utility>

namespace stage {

std::vector<CacheCandidate> cache_candidates(const Manifest& manifest,
                                             const SinkTargets& targets,
                                             const HeldBlocks& held,
                                             std::size_t most) {
    std::vector<CacheCandidate> all;
    for (std::size_t index = 0; index < targets.size() && all.size() < most; ++index) {
        const ManifestEntry& entry = manifest.entries[index];
        const auto stamp = entry.stamp_if_any();
        const Target* target = targets.use(index);
        if (!stamp || target == nullptr || entry.is_tree()) {
            continue;
        }
        UniqueFd file = target->reading();
        // (The job has no use for an archive, and till it is copied it takes room.)
        const bool is_spare = target->is_adopting();
        if (file && (!is_spare || has_spare_room(file.get(), entry.size))) {
            all.push_back({.stamp = *stamp,
                           .sum = sum_as_kept(entry, held.leaves_of(entry), std::nullopt),
                           .bytes = entry.size,
                           .file = std::move(file)});
        }
    }
    return all;
}

std::vector<FileInProgress> files_in_progress(
    const Manifest& manifest,
    const SinkTargets& targets,
    const std::function<bool(std::size_t index)>& is_filled,
    std::size_t most) {
    std::vector<FileInProgress> all;
    for (std::size_t index = 0; index < targets.size() && all.size() < most; ++index) {
        const Target* target = targets.use(index);
        if (target == nullptr || !target->is_noted() || is_filled(index)) {
            continue;
        }
        const ManifestEntry& entry = manifest.entries[index];
        if (UniqueFd file = target->reading()) {
            all.push_back(
                {.stamp = *entry.stamp_if_any(), .bytes = entry.size, .file = std::move(file)});
        }
    }
    return all;
}

}  // namespace stage
