#include "transport/os/route.h"

#include "transport/base/address.h"
#include "transport/os/unique_fd.h"

#include <sys/socket.h>

namespace stage {

std::optional<IpAddress> address_towards(const IpAddress& other) {
    const Address there{.ip = other, .port = 9};
    const UniqueFd socket{::socket(there.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const SocketAddress place = there.to_socket();
    if (!socket || ::connect(socket.get(), place.get(), place.length) != 0) {
        return std::nullopt;
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
        return std::nullopt;
    }
    const auto address = Address::from_socket(reinterpret_cast<const sockaddr*>(&own), length);
    return address ? std::optional{address->ip} : std::nullopt;
}

}  // namespace stage
