// Derives from the configuration of a broadcast what core and seal need to know of it.
#pragma once

#include "transport/run/broadcast.h"

namespace stage {

/// Blocks of 1 MiB that a member holds: under way, deferred or serving repairs. With
/// full sockets (30 MiB as granted for 12 asked) it stays below 64; and the first pass, which
/// goes 18 blocks ahead of the median member, rather fits into a slower one's socket.
inline constexpr std::uint32_t kResidentBlocks = 24;

[[nodiscard]] seal::SessionKeys keys_of(const BroadcastConfig& config);
/// `tag_bytes`: of each packet's tag.
[[nodiscard]] core::CoreConfig core_config(const BroadcastConfig& config,
                                           std::size_t tag_bytes);

}  // namespace stage
