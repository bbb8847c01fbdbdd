// Parses PushFrom: the nodes and networks from which a node accepts pushes.
//
// "login[1-2],10.1.0.7,10.2.0.0/16,fd00::/64": node lists, addresses, and networks with a
// prefix length, separated by commas.
#pragma once

#include "transport/base/ip_address.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Returns the entries unchanged; none for an empty text. Returns nothing if one of them is
/// neither a node list (with matching brackets) nor a complete address or network.
[[nodiscard]] std::optional<std::vector<std::string>> read_push_sources(std::string_view text);

/// True if an entry is an address or network, not a node list.
[[nodiscard]] bool is_network(const std::string& source);
/// True if `address` is in the network. Requires is_network(source).
[[nodiscard]] bool is_in_network(const IpAddress& address, const std::string& source);

}  // namespace stage
