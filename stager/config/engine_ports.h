// Which UDP ports are a push's without daemons (decisions/0019), wherever it runs?
//
// Its processes are a user's, so that no daemon can hand them a socket: the daemons leave these
// ports to them (daemon/run/data_ports.h). They are the last half of the default DataPortRange.
#pragma once

#include <cstdint>

namespace stage {

inline constexpr std::uint16_t kEnginePortFirst = 6862;
inline constexpr std::uint16_t kEnginePortLast = 6893;

}  // namespace stage
