// What a driver reports about its connection to one peer, if its unicast is reliable.
#pragma once

#include "transport/base/units.h"

#include <cstdint>

namespace stage {

struct LinkEvent {
    enum class Kind : std::uint8_t {
        /// The connection stands, and all that was sent by it was handed to the network: the
        /// peer can be sent more.
        ready,
        /// The connection ended or could not be made. What was under way is lost.
        closed,
    };

    Rank peer;
    Kind kind = Kind::ready;
};

}  // namespace stage
