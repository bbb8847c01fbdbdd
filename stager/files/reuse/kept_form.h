// Gives the digests of a manifest's entry in the form in which the node cache keeps it.
//
// A tree is kept as one file: its index, zeros to the end of the index's last block, and its
// data (ManifestEntry::kept_bytes()). A file is kept as it is.
#pragma once

#include "stager/files/manifest/manifest.h"
#include "transport/base/checksum.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace stage {

/// The leaf of the kept form of block `number` of `entry`, if that differs from the block,
/// whose `length` bytes lie in `room`. `room` has the kept form then.
[[nodiscard]] std::optional<Digest128> leaf_as_kept(const ManifestEntry& entry,
                                                    std::uint32_t number,
                                                    std::size_t length,
                                                    MutableBytes room);

/// The entry's `sum` (content/content.h). `leaves`: of its blocks; `index_end`: what
/// leaf_as_kept() gave, if it gave one.
[[nodiscard]] Digest128 sum_as_kept(const ManifestEntry& entry,
                                    std::vector<Digest128> leaves,
                                    const std::optional<Digest128>& index_end);

}  // namespace stage
