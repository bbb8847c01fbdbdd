// Transfers a cache entry between two nodes over an encrypted connection.
//
// The two daemons open and authenticate the connection and leave it to these two processes.
// Each block is sent as a sealed frame (stager/link/frame_seal.h) under a key made for this one
// file. Both ends know the length. The receiver reports the digests of what it wrote, and its
// daemon compares them.
#pragma once

#include "stager/content/content.h"
#include "stager/link/frame_seal.h"
#include "transport/base/result.h"

#include <functional>

namespace stage {

/// A peer that takes or sends nothing for this time is considered gone.
inline constexpr std::chrono::seconds kSealedSilenceMax{10};
using SealedClock = std::function<std::chrono::steady_clock::time_point()>;

/// Called before bytes up to `end` are written; false: the cache has no room for them.
using MayWrite = std::function<bool(std::uint64_t end)>;

/// The limits of receive_sealed().
struct SealedReceipt {
    SealedClock clock = std::chrono::steady_clock::now;
    MayWrite may_write = [](auto) { return true; };
};

/// Both functions block. `file` is read from its beginning, or written and synced. A peer whose
/// throughput falls below what copy_max() requires is given up; otherwise a peer that sends a
/// byte now and then could occupy its place for as long as a large file may take.
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
/// The error of a copy that is refused by `may_write`.
[[nodiscard]] Error no_room();

}  // namespace stage
