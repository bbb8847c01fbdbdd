// Takes a member of the engine's group from its options to the first packet.
//
// It opens the member's sockets, exchanges the cards, and configures the broadcast from them.
#pragma once

#include "pmix/business_card.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/broadcast/work.h"
#include "stager/worker/engine/engine_group.h"
#include "stager/worker/engine/options.h"

#include <cstdint>

namespace stage {

/// Requested for receiving, bytes. With both buffers granted in full and 24 resident blocks a
/// member uses less than 64 MB.
inline constexpr std::uint32_t kEngineSocketBuffer = 12U << 20U;

/// The state between the wire-up and the first packet. A group of one has a configuration with
/// one member and nothing else.
struct EngineReady {
    BroadcastConfig config;
    Network network;
    Joined joined;  ///< In the network's first fabric.
    CardTable cards;
};

/// `bytes`: of the object; only the source knows it. Fails (Blame::node) if the members do not
/// meet within the connect time-out.
[[nodiscard]] Result<EngineReady> connect_engine(const EngineOptions& options,
                                                 EngineGroup& group,
                                                 std::uint64_t bytes,
                                                 Interrupts& interrupts);

}  // namespace stage
