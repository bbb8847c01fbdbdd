#include "pmix/host/tcp.h"

#include "transport/base/address.h"

#include <sys/socket.h>

#include <cerrno>

namespace stage::pmix_host {
namespace {

UniqueFd tcp_socket(const IpAddress& address) {
    const int family = address.family == IpFamily::v4 ? AF_INET : AF_INET6;
    return UniqueFd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

std::string at(const IpAddress& address, std::uint16_t port) {
    return to_string(address) + " port " + std::to_string(port);
}

}  // namespace

Result<UniqueFd> listen_tcp(const IpAddress& address, std::uint16_t port) {
    UniqueFd socket = tcp_socket(address);
    const int yes = 1;
    const SocketAddress place = Address{.ip = address, .port = port}.to_socket();
    if (!socket ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::bind(socket.get(), place.get(), place.length) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0) {
        return Error::from_errno(Blame::node, "listening on " + at(address, port));
    }
    return socket;
}

UniqueFd accept_tcp(const UniqueFd& listener) {
    return UniqueFd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
}

Result<UniqueFd> begin_connect(const IpAddress& address, std::uint16_t port) {
    UniqueFd socket = tcp_socket(address);
    const SocketAddress place = Address{.ip = address, .port = port}.to_socket();
    if (!socket ||
        (::connect(socket.get(), place.get(), place.length) != 0 && errno != EINPROGRESS)) {
        return Error::from_errno(Blame::node, at(address, port));
    }
    return socket;
}

}  // namespace stage::pmix_host
