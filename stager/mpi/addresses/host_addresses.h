// Lists the addresses at which other hosts may reach this one.
#pragma once

#include "stager/mpi/messages/call_message.h"

#include <vector>

namespace stage {

/// Addresses of interfaces that are up, but no loopback or link-local ones. IPv4 comes before
/// IPv6, and the address that this host uses by its default route before all others.
[[nodiscard]] std::vector<CallAddress> host_addresses();

}  // namespace stage
