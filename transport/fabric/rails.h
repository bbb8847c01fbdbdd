// Chooses the interfaces that carry the group's traffic on this node.
//
// The site lists what may carry it, best first: an entry is one interface, or several rails
// that are used together. An entry is taken if the node has all of its interfaces; otherwise
// the next one is tried.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// One of the interfaces that are used together.
struct Rail {
    std::string name;
    Address address;  ///< One of the interface's, without a port.

    bool operator==(const Rail&) const = default;
};

/// The addresses by which the nodes of a group know each other. An interface may have several
/// addresses that are not all reachable from the others.
struct Neighbours {
    std::optional<Address> own;
    std::vector<Address> others;
};

/// An address of an interface, with the prefix length of its subnet.
struct AddressHere {
    Address address;
    unsigned prefix_bits = 0;
};

/// The address by which this node is known, or one in the subnet of another node, or the first
/// with a subnet at all (an address that moves from host to host often has none), or the first.
/// Requires that `all` is not empty.
[[nodiscard]] Address choose_address(const std::vector<AddressHere>& all,
                                     const Neighbours& neighbours);

/// An interface of this node that has an address of the requested family.
struct InterfaceHere {
    std::string name;
    Address address;
    bool is_up = true;
    bool has_link = true;
};

/// `family`: AF_INET or AF_INET6. Interfaces without such an address are omitted.
[[nodiscard]] std::vector<InterfaceHere> interfaces_here(int family,
                                                         const Neighbours& neighbours = {});

/// The interface with the alternative name `name` (ip link property), or `name`.
[[nodiscard]] std::string interface_called(const std::string& name);

/// The first entry whose interfaces all exist and are up, and, if there are several, have a
/// link: a rail without one would lose its share of the packets. If there is none, the error
/// (Blame::node) says what each entry lacks.
[[nodiscard]] Result<std::vector<Rail>> choose_rails(
    const std::vector<std::vector<std::string>>& entries,
    const std::vector<InterfaceHere>& here);

/// The interface that has `address`.
[[nodiscard]] Result<std::string> interface_of(const Address& address);
/// The interface's MTU, bytes.
[[nodiscard]] Result<std::uint32_t> interface_mtu(const std::string& interface);

/// True if the interface is up and has a link now. `socket`: any of the process's.
[[nodiscard]] bool has_link(int socket, const std::string& interface);

}  // namespace stage
