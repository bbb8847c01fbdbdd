// By which of this node's interfaces does the group come and go?
//
// The site names what may carry it, best first: an entry is one interface, or several rails
// that are used together. An entry counts where the node has all of it; else the next one does.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace stage::udp {

/// One of the interfaces that are used together.
struct Rail {
    std::string name;
    Address address;  ///< One of its own, without a port.

    bool operator==(const Rail&) const = default;
};

/// By which addresses the nodes of a group know each other. An interface may have several
/// addresses, and not each is reached by the others.
struct Neighbours {
    std::optional<Address> own;
    std::vector<Address> others;
};

/// An address of an interface, with the length of its subnet's prefix.
struct AddressHere {
    Address address;
    unsigned prefix_bits = 0;
};

/// That by which this node is known, or one in whose subnet another node is, or the first that
/// has a subnet at all (an address that moves from host to host often has none), or the first.
/// `all` has one at least.
[[nodiscard]] Address choose_address(const std::vector<AddressHere>& all,
                                     const Neighbours& neighbours);

/// What this node has: an interface, with an address of the family in question.
struct InterfaceHere {
    std::string name;
    Address address;
    bool is_up = true;
    bool has_link = true;
};

/// `family`: AF_INET or AF_INET6. Interfaces without such an address are not among them.
[[nodiscard]] std::vector<InterfaceHere> interfaces_here(int family,
                                                         const Neighbours& neighbours = {});

/// The name of the interface that has `name` among its alternative ones (ip link property), or
/// `name`.
[[nodiscard]] std::string interface_called(const std::string& name);

/// The first entry whose interfaces are all here and up, and have a link where there are
/// several: a rail without one would lose its share of everything. None: the error
/// (Blame::node) says of each entry what is missing.
[[nodiscard]] Result<std::vector<Rail>> choose_rails(
    const std::vector<std::vector<std::string>>& entries,
    const std::vector<InterfaceHere>& here);

/// Whether the interface is up and has a link now. `socket`: any of the process's.
[[nodiscard]] bool has_link(int socket, const std::string& interface);

}  // namespace stage::udp
