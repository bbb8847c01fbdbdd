// Chooses at which of its addresses each member of a call is reached.
#pragma once

#include "stager/mpi/messages/call_message.h"

#include <optional>
#include <vector>

namespace stage {

/// One address of each host: the first subnet of the first host in which every host has an
/// address of its own, so that neither a bridge for containers, whose address is the same on
/// all hosts, nor another network of some hosts is taken. Where the hosts share no subnet: the
/// best address of each. Nothing if two hosts would have the same, or a host has none.
[[nodiscard]] std::optional<std::vector<IpAddress>> common_network(
    const std::vector<std::vector<CallAddress>>& hosts);

}  // namespace stage
