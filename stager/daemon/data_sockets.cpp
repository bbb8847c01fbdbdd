#include "stager/daemon/data_sockets.h"

#include "transport/udp/sockets.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint64_t kMaxBufferBytes = 1U << 30U;  // The kernel counts in ints.

struct Own {
    std::string interface;
    Address address;
};

Result<Own> own_address(const Config& config, int family) {
    if (config.interfaces.empty()) {
        return Error{Blame::node,
                     "Interface is not set in stagecast.conf; name the network interface that "
                     "multicast may use"};
    }
    std::string said;
    for (const std::string& name : config.interfaces) {
        auto address = udp::interface_address(name, family);
        if (address) {
            return Own{name, *address};
        }
        said += (said.empty() ? "" : "; ") + address.error().sentence();
    }
    return Error{Blame::node, said}.remedy("correct Interface in stagecast.conf");
}

}  // namespace

Result<DataSockets> open_data_sockets(const Config& config,
                                      const Address& group,
                                      std::size_t lanes) {
    const auto own = own_address(config, group.family());
    if (!own) {
        return own.error();
    }
    const udp::SocketOptions options{.interface = own->interface,
                                     .ttl = static_cast<std::uint8_t>(config.ttl),
                                     .dscp = static_cast<std::uint8_t>(config.dscp),
                                     .buffer_bytes = static_cast<std::uint32_t>(
                                         std::min(config.socket_buffer, kMaxBufferBytes)),
                                     .force_buffer = true};
    DataSockets sockets;
    sockets.interface = own->interface;
    auto joined = udp::open_lane_sockets(group, lanes, options);
    if (!joined) {
        return joined.error();
    }
    sockets.lanes = std::move(*joined);
    auto unicast = udp::open_peer_socket(
        own->address, {config.data_port_range.first, config.data_port_range.last}, options);
    if (!unicast) {
        return unicast.error();
    }
    sockets.unicast = std::move(*unicast);
    return sockets;
}

}  // namespace stage
