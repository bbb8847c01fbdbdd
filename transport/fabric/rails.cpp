#include "transport/fabric/rails.h"

#include "transport/os/unique_fd.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>

namespace stage {
namespace {

/// Why the interface can't be a rail; nothing if it can.
std::optional<std::string> trouble_with(const std::string& name,
                                        const std::vector<InterfaceHere>& here,
                                        bool needs_link) {
    const auto found = std::ranges::find(here, name, &InterfaceHere::name);
    if (found == here.end()) {
        return "network interface '" + name + "' is absent or has no IPv4 address";
    }
    if (!found->is_up) {
        return "network interface '" + name + "' is down";
    }
    if (needs_link && !found->has_link) {
        return "network interface '" + name + "' has no link";
    }
    return std::nullopt;
}

/// What is wrong with the first that can't be used.
std::optional<std::string> take_rails(const std::vector<std::string>& entry,
                                      const std::vector<InterfaceHere>& here,
                                      std::vector<Rail>& rails) {
    for (const std::string& name : entry) {
        if (auto trouble = trouble_with(name, here, entry.size() > 1)) {
            return trouble;
        }
        rails.push_back({name, std::ranges::find(here, name, &InterfaceHere::name)->address});
    }
    return std::nullopt;
}

unsigned prefix_bits_of(const sockaddr* mask) {
    const auto address = mask == nullptr ? Result<Address>{Error{Blame::node, "no mask"}}
                                         : Address::from_socket(mask, sizeof(sockaddr_in6));
    unsigned bits = 0;
    for (std::size_t i = 0; address && i < address->ip.length(); ++i) {
        bits += static_cast<unsigned>(
            std::popcount(std::to_integer<unsigned>(address->ip.octets[i])));
    }
    return bits;
}

bool shares_prefix(const Address& one, const Address& other, unsigned bits) {
    if (one.family() != other.family()) {
        return false;
    }
    for (unsigned i = 0; i < one.ip.length() && bits > 0; ++i) {
        const unsigned count = std::min(bits, 8U);
        const unsigned differ = std::to_integer<unsigned>(one.ip.octets[i]) ^
                                std::to_integer<unsigned>(other.ip.octets[i]);
        if ((differ >> (8U - count)) != 0) {
            return false;
        }
        bits -= count;
    }
    return true;
}

/// The more the better.
unsigned fitness(const AddressHere& one, const Neighbours& neighbours) {
    if (neighbours.own && neighbours.own->with_port(0) == one.address) {
        return 3;
    }
    const bool has_other = std::ranges::any_of(neighbours.others, [&one](const Address& other) {
        return shares_prefix(one.address, other, one.prefix_bits);
    });
    const bool has_subnet = one.prefix_bits < 8 * one.address.ip.length();
    return has_other && has_subnet ? 2 : has_subnet ? 1 : 0;
}

/// A label, "eth0:1", names an address of an interface and no interface.
std::string without_label(std::string name) {
    return name.substr(0, name.find(':'));
}

}  // namespace

Address choose_address(const std::vector<AddressHere>& all, const Neighbours& neighbours) {
    return std::ranges::max_element(
               all,
               {},
               [&neighbours](const AddressHere& one) { return fitness(one, neighbours); })
        ->address;
}

std::string interface_called(const std::string& name) {
    std::array<char, IF_NAMESIZE> real{};
    const unsigned index = ::if_nametoindex(name.c_str());
    return index != 0 && ::if_indextoname(index, real.data()) != nullptr ? real.data() : name;
}

std::vector<InterfaceHere> interfaces_here(int family, const Neighbours& neighbours) {
    std::vector<InterfaceHere> here;
    std::vector<std::vector<AddressHere>> addresses;  // Of each of these.
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return here;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) {
            continue;
        }
        const auto address = Address::from_socket(entry->ifa_addr, sizeof(sockaddr_in6));
        if (!address) {
            continue;
        }
        const std::string name = without_label(entry->ifa_name);
        auto known = std::ranges::find(here, name, &InterfaceHere::name);
        if (known == here.end()) {
            known = here.insert(known,
                                {.name = name,
                                 .address = *address,
                                 .is_up = (entry->ifa_flags & IFF_UP) != 0,
                                 .has_link = (entry->ifa_flags & IFF_RUNNING) != 0});
            addresses.emplace_back();
        }
        addresses[static_cast<std::size_t>(known - here.begin())].push_back(
            {address->with_port(0), prefix_bits_of(entry->ifa_netmask)});
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
        here[i].address = choose_address(addresses[i], neighbours);
    }
    return here;
}

Result<std::vector<Rail>> choose_rails(const std::vector<std::vector<std::string>>& entries,
                                       const std::vector<InterfaceHere>& here) {
    std::string said;
    for (const std::vector<std::string>& entry : entries) {
        std::vector<Rail> rails;
        if (const auto trouble = take_rails(entry, here, rails)) {
            said += (said.empty() ? "" : "; ") + *trouble;
        } else if (!entry.empty()) {
            return rails;
        }
    }
    return Error{Blame::node, said.empty() ? "no network interface is named" : said}.remedy(
        "mend it, or name another in stagecast.conf (Interface=)");
}

bool has_link(int socket, const std::string& interface) {
    ifreq request{};
    interface.copy(&request.ifr_name[0], IFNAMSIZ - 1);
    constexpr int kAlive = IFF_UP | IFF_RUNNING;
    return ::ioctl(socket, SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & kAlive) == kAlive;
}

Result<std::string> interface_of(const Address& address) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return Error::from_errno(Blame::node, "asking for the network interfaces");
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != address.family()) {
            continue;
        }
        const auto here = Address::from_socket(entry->ifa_addr, sizeof(sockaddr_in6));
        if (here && here->with_port(0) == address.with_port(0)) {
            return std::string{entry->ifa_name};
        }
    }
    return Error{Blame::node, "no network interface has the address " + address.host()};
}

Result<std::uint32_t> interface_mtu(const std::string& interface) {
    const UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq request{};
    interface.copy(&request.ifr_name[0], IFNAMSIZ - 1);
    if (!fd || ::ioctl(fd.get(), SIOCGIFMTU, &request) != 0) {
        return Error::from_errno(Blame::node, "asking for the MTU of " + interface);
    }
    return static_cast<std::uint32_t>(request.ifr_mtu);
}

}  // namespace stage
