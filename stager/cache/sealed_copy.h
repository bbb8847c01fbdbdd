// How does an entry of one node's cache get to another's?
//
// Over a connection that the two daemons have opened, proved and left to these two processes:
// block after block, each a sealed frame (stager/link/frame_seal.h) under a key made for this
// one file. Both ends know how long it is. The receiver names what it wrote by its digests, and
// its daemon compares.
#pragma once

#include "stager/cache/content.h"
#include "stager/link/frame_seal.h"
#include "transport/base/result.h"

namespace stage {

/// A peer that takes or gives nothing for so long has gone.
inline constexpr std::chrono::seconds kSealedSilenceMax{10};

/// Both block. `file` is read from its beginning, or written and brought to the disk.
[[nodiscard]] Status send_sealed(int file,
                                 int socket,
                                 std::uint64_t size,
                                 const DirectionKey& key);
[[nodiscard]] Result<Content> receive_sealed(int socket,
                                             int file,
                                             std::uint64_t size,
                                             const DirectionKey& key);

}  // namespace stage
