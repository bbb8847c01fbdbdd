#include "transport/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace stage {

Result<Address> Address::parse(std::string_view text, std::uint16_t port) {
    const std::string zero_ended{text};
    Address address;
    address.port_ = port;
    if (::inet_pton(AF_INET, zero_ended.c_str(), address.bytes_.data()) == 1) {
        return address;
    }
    address.is_v6_ = true;
    if (::inet_pton(AF_INET6, zero_ended.c_str(), address.bytes_.data()) == 1) {
        return address;
    }
    return Error{Blame::user, "'" + zero_ended + "' is not an IPv4 or IPv6 address"};
}

Result<Address> Address::from_socket(const sockaddr* address, socklen_t length) {
    Address out;
    if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        std::memcpy(out.bytes_.data(), &in.sin_addr, 4);
        out.port_ = ntohs(in.sin_port);
        return out;
    }
    if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
        sockaddr_in6 in6{};
        std::memcpy(&in6, address, sizeof in6);
        std::memcpy(out.bytes_.data(), &in6.sin6_addr, 16);
        out.port_ = ntohs(in6.sin6_port);
        out.is_v6_ = true;
        return out;
    }
    return Error{Blame::internal, "a socket address is neither IPv4 nor IPv6"};
}

bool Address::is_multicast() const {
    const auto first = std::to_integer<unsigned>(bytes_[0]);
    return is_v6_ ? first == 0xff : first >> 4U == 0xe;
}

Address Address::with_port(std::uint16_t port) const {
    Address copy = *this;
    copy.port_ = port;
    return copy;
}

SocketAddress Address::to_socket() const {
    SocketAddress out;
    if (is_v6_) {
        sockaddr_in6 in6{};
        in6.sin6_family = AF_INET6;
        in6.sin6_port = htons(port_);
        std::memcpy(&in6.sin6_addr, bytes_.data(), 16);
        std::memcpy(&out.storage, &in6, sizeof in6);
        out.length = sizeof in6;
    } else {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port_);
        std::memcpy(&in.sin_addr, bytes_.data(), 4);
        std::memcpy(&out.storage, &in, sizeof in);
        out.length = sizeof in;
    }
    return out;
}

std::string Address::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(family(), bytes_.data(), text.data(), text.size());
    return text.data();
}

std::string Address::to_string() const {
    const std::string port = std::to_string(port_);
    return is_v6_ ? "[" + host() + "]:" + port : host() + ":" + port;
}

void Address::write(ByteWriter& out) const {
    out.u8(is_v6_ ? 6 : 4).raw(Bytes{bytes_}.first(size())).u16(port_);
}

Address Address::read(ByteReader& in) {
    Address address;
    const std::uint8_t family = in.u8();
    if (family != 4 && family != 6) {
        in.fail();
    }
    address.is_v6_ = family == 6;
    const Bytes bytes = in.raw(address.size());
    std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
    address.port_ = in.u16();
    return address;
}

}  // namespace stage
