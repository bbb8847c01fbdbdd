// Writes the blocks of an object's files to their targets, and reads them back.
#pragma once

#include "stager/files/targets/held_blocks.h"
#include "stager/files/targets/sink_targets.h"
#include "transport/run/object/sink.h"

namespace stage {

class FileBlocks {
  public:
    /// Both must outlive this.
    FileBlocks(const Manifest& manifest, SinkTargets& targets)
        : manifest_{manifest}, targets_{targets}, held_{manifest} {}

    /// A target that cannot write the block is given up; an error ends the stage.
    [[nodiscard]] Result<Placing> write(BlockIndex block, Bytes bytes, const Digest128& leaf);
    [[nodiscard]] Status read_back(BlockIndex block,
                                   std::uint32_t offset,
                                   MutableBytes room) const;
    /// The block has these bytes at its place already.
    void hold(BlockIndex block, const BlockPlace& place, const Digest128& leaf) {
        held_.hold(block, place.length, leaf);
    }
    /// Nothing of `entry` is held.
    void drop(const ManifestEntry& entry) { held_.drop(entry); }

    [[nodiscard]] const HeldBlocks& held() const { return held_; }

  private:
    const Manifest& manifest_;
    SinkTargets& targets_;
    HeldBlocks held_;
};

}  // namespace stage
