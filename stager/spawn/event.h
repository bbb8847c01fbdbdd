// Encodes the events that the spawner reports to the daemon, one in each message.
#pragma once

#include "stager/spawn/spawner.h"

namespace stage {

/// Longest sentence in an event, in bytes; a longer one is cut.
inline constexpr std::size_t kSpawnSentenceMax = 2048;

[[nodiscard]] std::vector<std::byte> encode_event(const SpawnEvent& event);
[[nodiscard]] Result<SpawnEvent> decode_event(Bytes message);

}  // namespace stage
