// Remembers what a receiver stored of each block, so that it can give the block back to peers.
//
// The largest objects have millions of blocks. So a block takes 12 bytes: its lengths and
// encoding, and a part of its digest, which the bytes that are read back must have. The whole
// digest is computed from those bytes again.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/units.h"
#include "transport/wire/body.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace stage {

class StoredBlocks {
  public:
    /// `sent`: the digest of the transferred bytes of a compressed block.
    void add(BlockIndex block, const wire::Descriptor& descriptor, const Digest128& sent);

    /// The descriptor without its digest; nothing for a block that was not added.
    [[nodiscard]] std::optional<wire::Descriptor> find(BlockIndex block) const;
    /// True if the block was added with these digests. (That is wrong once in 2^52.)
    [[nodiscard]] bool matches(BlockIndex block,
                               const Digest128& leaf,
                               const Digest128& sent) const;

  private:
    /// The lengths (21 bits each), the encoding (2 bits) and 52 bits of the digests.
    using Record = std::array<std::uint32_t, 3>;
    static constexpr std::size_t kPageBlocks = 4096;
    using Page = std::array<Record, kPageBlocks>;

    [[nodiscard]] const Record* record(BlockIndex block) const;

    /// By block. A page is made with its first block, so that the whole never moves.
    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace stage
