// Tracks which blocks of an object's files are held on this node, and their leaf digests.
#pragma once

#include "stager/files/manifest/manifest.h"
#include "transport/base/checksum.h"
#include "transport/core/base/contract.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stage {

class HeldBlocks {
  public:
    /// The blocks of what `manifest` describes; none is held. The manifest must outlive this.
    explicit HeldBlocks(const Manifest& manifest);

    /// Holds a block of a file, which is not held yet.
    void hold(BlockIndex block, std::uint32_t length, const Digest128& leaf);
    /// Every block of `entry` is missing again.
    void drop(const ManifestEntry& entry);

    /// False for a block of the manifest, and for one beyond the object's end.
    [[nodiscard]] bool holds(BlockIndex block) const;
    [[nodiscard]] bool holds_all() const { return missing_ == 0; }
    /// Counts the files' bytes.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Runs of the object's held blocks, apart and in order, after the manifest's; or none.
    [[nodiscard]] std::vector<core::BlockRun> runs() const;

    /// The leaf of a file's block; zeros if the block never was held.
    [[nodiscard]] const Digest128& leaf(BlockIndex block) const;
    [[nodiscard]] std::vector<Digest128> leaves_of(const ManifestEntry& entry) const;
    /// Covers all blocks of files.
    [[nodiscard]] std::string digest() const;

  private:
    /// The index in `leaves_` and `held_` of a file's block.
    [[nodiscard]] std::size_t place_of(BlockIndex block) const {
        return block.index() - first_;
    }

    const Manifest& manifest_;
    std::uint32_t first_;            ///< The first block of a file.
    std::vector<Digest128> leaves_;  ///< The leaves of blocks from `first_` on.
    std::vector<bool> held_;         ///< The blocks of `leaves_` that are held.
    std::size_t missing_;
    std::uint64_t bytes_ = 0;
};

}  // namespace stage
