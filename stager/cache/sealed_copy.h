// How does an entry of one node's cache get to another's?
//
// Over a connection that the two daemons have opened, proved and left to these two processes:
// block after block, each a sealed frame (stager/link/frame_seal.h) under a key made for this
// one file. Both ends know how long it is. The receiver names what it wrote by its digests, and
// its daemon compares.
#pragma once

#include "stager/content/content.h"
#include "stager/link/frame_seal.h"
#include "transport/base/result.h"

#include <functional>

namespace stage {

/// A peer that takes or gives nothing for so long has gone.
inline constexpr std::chrono::seconds kSealedSilenceMax{10};
using SealedClock = std::function<std::chrono::steady_clock::time_point()>;

/// Asked before the bytes up to there are written; no: the cache has no room for them.
using MayWrite = std::function<bool(std::uint64_t end)>;

/// What bounds a receipt.
struct SealedReceipt {
    SealedClock clock = std::chrono::steady_clock::now;
    MayWrite may_write = [](auto) { return true; };
};

/// Both block. `file` is read from its beginning, or written and brought to the disk. A peer
/// with which less is done at any time than copy_max() asks for is given up: else one that
/// gives a byte now and then would hold its place for as long as a large file may take.
[[nodiscard]] Status send_sealed(int file,
                                 int socket,
                                 std::uint64_t size,
                                 const DirectionKey& key,
                                 const SealedClock& clock = std::chrono::steady_clock::now);
[[nodiscard]] Result<Content> receive_sealed(int socket,
                                             int file,
                                             std::uint64_t size,
                                             const DirectionKey& key,
                                             const SealedReceipt& receipt = {});
/// What either kind of copy ends with where it may not.
[[nodiscard]] Error no_room();

}  // namespace stage
