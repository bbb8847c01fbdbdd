// By which of this node's interfaces does the group come and go?
//
// The site names what may carry it, best first: an entry is one interface, or several rails
// that are used together. An entry counts where the node has all of it; else the next one does.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage::udp {

/// One of the interfaces that are used together.
struct Rail {
    std::string name;
    Address address;  ///< Its first, without a port.

    bool operator==(const Rail&) const = default;
};

/// What this node has: an interface, with its first address of the family in question.
struct InterfaceHere {
    std::string name;
    Address address;
    bool is_up = true;
    bool has_link = true;
};

/// `family`: AF_INET or AF_INET6. Interfaces without such an address are not among them.
[[nodiscard]] std::vector<InterfaceHere> interfaces_here(int family);

/// The first entry whose interfaces are all here and up, and have a link where there are
/// several: a rail without one would lose its share of everything. None: the error
/// (Blame::node) says of each entry what is missing.
[[nodiscard]] Result<std::vector<Rail>> choose_rails(
    const std::vector<std::vector<std::string>>& entries,
    const std::vector<InterfaceHere>& here);

/// Whether the interface is up and has a link now. `socket`: any of the process's.
[[nodiscard]] bool has_link(int socket, const std::string& interface);

}  // namespace stage::udp
