// The UDP ports of pushes without daemons (decisions/0019).
//
// The processes of such a push belong to a user, so no daemon can pass them a socket; the
// daemons leave these ports to them (daemon/run/data_ports.h). They are the last half of the
// default DataPortRange.
#pragma once

#include <cstdint>

namespace stage {

inline constexpr std::uint16_t kEnginePortFirst = 6862;
inline constexpr std::uint16_t kEnginePortLast = 6893;

}  // namespace stage
