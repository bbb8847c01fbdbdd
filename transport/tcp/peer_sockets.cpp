#include "transport/tcp/peer_sockets.h"

#include "transport/tcp/tcp_socket.h"

#include <cerrno>

namespace stage::tcp {

Result<PeerSockets> open_peer_sockets(const Address& own,
                                      std::pair<std::uint16_t, std::uint16_t> ports,
                                      const udp::SocketOptions& options) {
    while (true) {
        auto datagrams = udp::open_peer_socket(own, ports, options);
        if (!datagrams) {
            return datagrams.error();
        }
        const auto bound = udp::bound_address(datagrams->get());
        if (!bound) {
            return bound.error();
        }
        auto listener = open_listener(*bound, {.dscp = options.dscp});
        if (listener) {
            return PeerSockets{.datagrams = std::move(*datagrams),
                               .listener = std::move(*listener)};
        }
        if (listener.error().cause() != EADDRINUSE || bound->port >= ports.second) {
            return listener.error();
        }
        ports.first = static_cast<std::uint16_t>(bound->port + 1);
    }
}

}  // namespace stage::tcp
