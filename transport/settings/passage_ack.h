// When a push to another cluster may end.
#pragma once

#include <cstdint>

namespace stage {

/// What DONE of a gateway means (Kota 2006, 2.1). Encoded by number.
enum class PassageAck : std::uint8_t {
    nodes = 0,    ///< Chained: the sessions behind the gateway have ended well.
    gateway = 1,  ///< Piece-wise: the gateway holds the object.
};

}  // namespace stage
