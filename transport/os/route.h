// Asks the kernel by which of this host's addresses it reaches another host.
#pragma once

#include "transport/base/ip_address.h"

#include <optional>

namespace stage {

/// The address from which packets to `other` leave this host; nothing if no route leads there.
[[nodiscard]] std::optional<IpAddress> address_towards(const IpAddress& other);

}  // namespace stage
