#include "transport/os/bound_address.h"

#include <sys/socket.h>

namespace stage {

Result<Address> bound_address(int socket) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
        return Error::from_errno(Blame::internal, "asking a socket for its address");
    }
    return Address::from_socket(reinterpret_cast<const sockaddr*>(&storage), length);
}

}  // namespace stage
