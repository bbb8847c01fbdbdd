#include "transport/base/address.h"

#include <netinet/in.h>

#include <cstring>

namespace stage {

Result<Address> Address::parse(std::string_view text, std::uint16_t port) {
    const std::string host{text};
    const auto ip = parse_ip(host);
    if (!ip) {
        return Error{Blame::user, "'" + host + "' is not an IPv4 or IPv6 address"};
    }
    return Address{.ip = *ip, .port = port};
}

Result<Address> Address::from_socket(const sockaddr* address, socklen_t length) {
    Address out;
    if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        std::memcpy(out.ip.octets.data(), &in.sin_addr, 4);
        out.port = ntohs(in.sin_port);
        return out;
    }
    if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
        sockaddr_in6 in6{};
        std::memcpy(&in6, address, sizeof in6);
        std::memcpy(out.ip.octets.data(), &in6.sin6_addr, 16);
        out.port = ntohs(in6.sin6_port);
        out.ip.family = IpFamily::v6;
        return out;
    }
    return Error{Blame::internal, "a socket address is neither IPv4 nor IPv6"};
}

int Address::family() const {
    return is_v6() ? AF_INET6 : AF_INET;
}

Address Address::with_port(std::uint16_t other) const {
    return {.ip = ip, .port = other};
}

SocketAddress Address::to_socket() const {
    SocketAddress out;
    if (is_v6()) {
        sockaddr_in6 in6{};
        in6.sin6_family = AF_INET6;
        in6.sin6_port = htons(port);
        std::memcpy(&in6.sin6_addr, ip.octets.data(), 16);
        std::memcpy(&out.storage, &in6, sizeof in6);
        out.length = sizeof in6;
    } else {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        std::memcpy(&in.sin_addr, ip.octets.data(), 4);
        std::memcpy(&out.storage, &in, sizeof in);
        out.length = sizeof in;
    }
    return out;
}

std::string Address::to_string() const {
    const std::string number = std::to_string(port);
    return is_v6() ? "[" + host() + "]:" + number : host() + ":" + number;
}

}  // namespace stage
