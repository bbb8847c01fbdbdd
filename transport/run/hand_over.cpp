#include "transport/run/hand_over.h"

#include "transport/base/invariant.h"
#include "transport/core/base/timeouts.h"

#include <algorithm>

namespace stage {

BroadcastConfig relay_after(const BroadcastConfig& multicast, const core::Outcome& outcome) {
    invariant(outcome.relay.has_value(), "a relay follows a hand-over");
    BroadcastConfig relay = core::with_default_timeouts(multicast);
    relay.scheme = *outcome.relay;
    relay.session = seal::relay_session(multicast.session);
    relay.unreached_policy = UnreachedPolicy::fetch;
    // All members are known to run.
    relay.ready_timeout = std::min(relay.ready_timeout, relay.stall_timeout);
    return relay;
}

BroadcastReport joined(const BroadcastReport& multicast, BroadcastReport relay) {
    relay.was_handed_over = true;
    relay.refused += multicast.refused;
    relay.driver += multicast.driver;
    relay.ran += multicast.ran;
    if (relay.held_after) {
        relay.held_after = multicast.held_after.value_or(*relay.held_after + multicast.ran);
    }
    relay.own_memory_bytes = std::max(relay.own_memory_bytes, multicast.own_memory_bytes);
    relay.outcome.was_unreachable = multicast.outcome.was_unreachable;
    relay.outcome.unreached = multicast.outcome.unreached;
    return relay;
}

}  // namespace stage
