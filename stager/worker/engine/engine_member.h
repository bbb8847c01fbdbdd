// Makes a member of the engine's group of its options: opens its sockets, and plans the rest.
#pragma once

#include "stager/worker/broadcast/broadcast_member.h"
#include "stager/worker/engine/engine_group.h"
#include "stager/worker/engine/options.h"

#include <cstdint>

namespace stage {

/// Requested for receiving, bytes. With both buffers granted in full and 24 resident blocks a
/// member uses less than 64 MB.
inline constexpr std::uint32_t kEngineSocketBuffer = 12U << 20U;

/// Requires nothing of the group's directory. Fails (Blame::node) if a socket cannot be opened.
[[nodiscard]] Result<BroadcastMember> engine_member(const EngineOptions& options,
                                                    const EngineGroup& group);

}  // namespace stage
