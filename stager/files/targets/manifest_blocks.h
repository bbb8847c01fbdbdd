// Gathers an object's manifest from the object's first blocks.
//
// The manifest's length is known from block 0 on. A sink may also get the whole manifest before
// the broadcast; its blocks are then only compared with it.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/run/object/sink.h"

#include <string_view>
#include <vector>

namespace stage {

/// The object's blocks do not fit its manifest.
[[nodiscard]] Error malformed_object(std::string_view what);

class ManifestBlocks {
  public:
    /// The whole manifest, before any block of it.
    void assign(Bytes manifest);

    /// A block of the object. Deferred if it is not known to be the manifest's; once the
    /// manifest is complete, an error if the block differs from it.
    [[nodiscard]] Result<Placing> write(BlockIndex block, Bytes bytes);

    [[nodiscard]] bool is_complete() const;
    [[nodiscard]] bool holds(BlockIndex block) const;
    /// Requires holds(). An error if `room` reaches beyond the manifest's end.
    [[nodiscard]] Status read_back(BlockIndex block,
                                   std::uint32_t offset,
                                   MutableBytes room) const;
    [[nodiscard]] Bytes bytes() const { return bytes_; }

  private:
    [[nodiscard]] Status compare(BlockIndex block, Bytes bytes) const;

    std::vector<std::byte> bytes_;
    std::vector<bool> held_;  ///< By block.
};

}  // namespace stage
