// The address to which a socket is bound.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"

namespace stage {

/// With its port. Fails (Blame::internal) for a descriptor that is no IP socket.
[[nodiscard]] Result<Address> bound_address(int socket);

}  // namespace stage
