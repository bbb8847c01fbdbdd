// Turns what a call of libstagecast-mpi asks for into the engine's options.
//
// The root's node decides for all: what the call leaves open comes from its stagecast.conf.
#pragma once

#include "stager/config/config.h"
#include "stager/mpi/messages/call_message.h"
#include "stager/worker/engine/options.h"

#include <optional>

namespace stage {

/// Decides the transport of `order`: multicast if interfaces are named, by the order or by
/// `site`, unless either wants TCP; where multicast does not reach every node, TCP. The result
/// also has what `site` says of all packets. `site` is empty where there is no stagecast.conf.
/// Fails (Blame::user) on interfaces that make no sense, and if multicast is wanted and no
/// interface named.
[[nodiscard]] Result<CallOffer> settle_offer(CallOrder order,
                                             const std::optional<Config>& site);

/// The options of a member that takes part by this offer.
[[nodiscard]] EngineOptions engine_options(const CallOffer& offer);

}  // namespace stage
