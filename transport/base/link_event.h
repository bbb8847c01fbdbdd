// What a driver reports about its connection to one peer, if its unicast is reliable.
#pragma once

#include "transport/base/units.h"

#include <compare>
#include <cstdint>

namespace stage {

/// A connection by its other end: a peer may have one for each flow.
struct LinkEnd {
    Rank peer;
    Flow flow{};

    friend auto operator<=>(const LinkEnd&, const LinkEnd&) = default;
};

struct LinkEvent {
    enum class Kind : std::uint8_t {
        /// The connection stands, and all that was sent by it was handed to the network: the
        /// peer can be sent more.
        ready,
        /// The connection ended or could not be made. What was under way is lost.
        closed,
        /// It ended, and its path carried no long packet: the next one sends shorter ones.
        narrowed,
    };

    Rank peer;
    Flow flow{};
    Kind kind = Kind::ready;
    /// With `ready`: the path's RTT, as the connection's begin showed it; 0: not known.
    Duration round_trip{};
};

}  // namespace stage
