// Gives the files of a stage that the node's daemon may keep for later stages.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/manifest.h"
#include "stager/files/targets/held_blocks.h"
#include "stager/files/targets/sink_targets.h"
#include "transport/os/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stage {

/// A file or tree, whole, for the node cache.
struct CacheCandidate {
    SourceStamp stamp{};
    Digest128 sum{};
    std::uint64_t bytes = 0;
    UniqueFd file;  ///< For reading.
};

/// A file that the stage may be interrupted at.
struct FileInProgress {
    SourceStamp stamp{};
    std::uint64_t bytes = 0;  ///< When it is whole.
    UniqueFd file;            ///< For reading.
};

/// Files that a later stage may recognise, as they lie here; at most `most`. No trees
/// (tree_spool.h). Once all of them are settled.
[[nodiscard]] std::vector<CacheCandidate> cache_candidates(const Manifest& manifest,
                                                           const SinkTargets& targets,
                                                           const HeldBlocks& held,
                                                           std::size_t most);

/// Files that are noted while they grow, at most `most`, without those for which `is_filled`.
[[nodiscard]] std::vector<FileInProgress> files_in_progress(
    const Manifest& manifest,
    const SinkTargets& targets,
    const std::function<bool(std::size_t index)>& is_filled,
    std::size_t most);

}  // namespace stage
