// PushFrom's value: the nodes and networks from which a node takes pushes.
//
// "login[1-2],10.1.0.7,10.2.0.0/16,fd00::/64": node lists, addresses, and networks with the
// length of their prefix, separated by commas.
#pragma once

#include "transport/base/ip_address.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The entries, as they stand; none for an empty text. Nothing if one of them is neither a node
/// list (whose brackets fit) nor a whole address or network.
[[nodiscard]] std::optional<std::vector<std::string>> read_push_sources(std::string_view text);

/// Of one entry: an address or network, so no node list.
[[nodiscard]] bool is_network(const std::string& source);
/// `address` lies in it. Requires is_network(source).
[[nodiscard]] bool is_in_network(const IpAddress& address, const std::string& source);

}  // namespace stage
