#include "stager/mpi/addresses/host_addresses.h"

#include "transport/base/address.h"
#include "transport/os/bound_address.h"
#include "transport/os/unique_fd.h"
#include "transport/udp/sockets.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

namespace stage {
namespace {

constexpr std::size_t kMost = 16;

std::uint8_t prefix_bits_of(const sockaddr* mask) {
    unsigned bits = 0;
    const auto address = Address::from_socket(mask, sizeof(sockaddr_in6));
    for (const std::byte octet : address ? address->ip.bytes() : Bytes{}) {
        bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(octet)));
    }
    return static_cast<std::uint8_t>(bits);
}

bool is_link_local(const IpAddress& ip) {
    const auto first = std::to_integer<unsigned>(ip.octets[0]);
    const auto second = std::to_integer<unsigned>(ip.octets[1]);
    return ip.family == IpFamily::v4 ? first == 169 && second == 254
                                     : first == 0xfe && (second & 0xc0U) == 0x80;
}

std::optional<CallAddress> address_of(const ifaddrs& entry) {
    constexpr unsigned kNeeded = IFF_UP | IFF_RUNNING;
    if (entry.ifa_addr == nullptr || entry.ifa_netmask == nullptr ||
        (entry.ifa_flags & (kNeeded | IFF_LOOPBACK)) != kNeeded) {
        return std::nullopt;
    }
    const auto address = Address::from_socket(entry.ifa_addr, sizeof(sockaddr_in6));
    if (!address || is_link_local(address->ip)) {
        return std::nullopt;
    }
    return CallAddress{.ip = address->ip, .prefix_bits = prefix_bits_of(entry.ifa_netmask)};
}

/// Connecting a UDP socket sends nothing. The other address is one of documentation (RFC 5737).
std::optional<IpAddress> default_address() {
    const auto far = Address::parse("192.0.2.1", 9);
    const UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!far || !socket) {
        return std::nullopt;
    }
    const SocketAddress to = far->to_socket();
    if (::connect(socket.get(), to.get(), to.length) != 0) {
        return std::nullopt;
    }
    const auto own = bound_address(socket.get());
    return own ? std::optional{own->ip} : std::nullopt;
}

}  // namespace

std::vector<CallAddress> host_addresses() {
    std::vector<CallAddress> all;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return all;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (const auto address = address_of(*entry)) {
            all.push_back(*address);
        }
    }
    const std::optional<IpAddress> usual = default_address();
    std::ranges::stable_sort(all, {}, [&usual](const CallAddress& one) {
        return usual && one.ip == *usual ? 0 : one.ip.family == IpFamily::v4 ? 1 : 2;
    });
    all.resize(std::min(all.size(), kMost));
    return all;
}

}  // namespace stage
