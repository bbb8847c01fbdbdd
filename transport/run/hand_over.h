// What becomes of a broadcast whose multicast session ended by a hand-over to a relay.
//
// The members and the object are the same. The session is another one, with keys of its own,
// over another fabric.
#pragma once

#include "transport/run/broadcast.h"

namespace stage {

/// The configuration of the relay. Requires that the outcome has a relay. The caller
/// sets anew the carrier and what this member holds.
[[nodiscard]] BroadcastConfig relay_after(const BroadcastConfig& multicast,
                                          const core::Outcome& outcome);

/// The report on both sessions together.
[[nodiscard]] BroadcastReport joined(const BroadcastReport& multicast, BroadcastReport relay);

}  // namespace stage
