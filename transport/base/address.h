// Where does a node's socket live?
//
// An IPv4 or IPv6 address and a port, as a value that can be compared, printed, put into a
// message and turned into what the socket calls take.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <sys/socket.h>

#include <array>
#include <compare>
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

class Address {
  public:
    /// No address: 0.0.0.0, port 0.
    Address() = default;

    /// "10.1.2.3" or "fe80::1", without a port. Fails with Blame::user for anything else.
    static Result<Address> parse(std::string_view text, std::uint16_t port);
    /// From what accept(), getsockname() or a resolver gave. Fails for other families.
    static Result<Address> from_socket(const sockaddr* address, socklen_t length);

    [[nodiscard]] bool is_v6() const { return is_v6_; }
    [[nodiscard]] bool is_multicast() const;
    [[nodiscard]] int family() const { return is_v6_ ? AF_INET6 : AF_INET; }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] Address with_port(std::uint16_t port) const;
    [[nodiscard]] SocketAddress to_socket() const;
    /// "10.1.2.3" or "fe80::1".
    [[nodiscard]] std::string host() const;
    /// "10.1.2.3:6829" or "[fe80::1]:6829".
    [[nodiscard]] std::string to_string() const;

    /// family u8 (4 or 6) | 4 or 16 bytes | port u16
    void write(ByteWriter& out) const;
    /// A failed reader if the bytes are no address.
    static Address read(ByteReader& in);

    auto operator<=>(const Address&) const = default;

  private:
    [[nodiscard]] std::size_t size() const { return is_v6_ ? 16 : 4; }

    bool is_v6_ = false;
    std::array<std::byte, 16> bytes_{};  ///< Of IPv4 the first four.
    std::uint16_t port_ = 0;
};

}  // namespace stage
