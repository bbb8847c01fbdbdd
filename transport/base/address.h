// The address of a socket: a host's IP address and a port, as a value that can be compared,
// printed, put into a message, and converted to what the socket calls take.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/ip_address.h"
#include "transport/base/result.h"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace stage {

/// What connect() and sendto() take: `length` bytes of `storage` count.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

struct Address {
    IpAddress ip;
    std::uint16_t port = 0;

    /// "10.1.2.3" or "fd00::1", without a port. Fails with Blame::user for anything else.
    static Result<Address> parse(std::string_view text, std::uint16_t port);
    /// From what accept(), getsockname() or a resolver gave. Fails for other families.
    static Result<Address> from_socket(const sockaddr* address, socklen_t length);

    [[nodiscard]] bool is_v6() const { return ip.family == IpFamily::v6; }
    /// AF_INET or AF_INET6.
    [[nodiscard]] int family() const;
    [[nodiscard]] Address with_port(std::uint16_t other) const;
    [[nodiscard]] SocketAddress to_socket() const;
    /// "10.1.2.3".
    [[nodiscard]] std::string host() const { return stage::to_string(ip); }
    /// "10.1.2.3:6829" or "[fd00::1]:6829".
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace stage
