#include "transport/tcp/tcp_fabric.h"

#include "transport/base/fields.h"
#include "transport/fabric/address_field.h"
#include "transport/os/bound_address.h"
#include "transport/tcp/tcp_driver.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/wire/packet.h"

#include <cerrno>
#include <utility>

namespace stage::tcp {

/// Where a member listens.
struct TcpPlace {
    Address listener;  ///< Never without a port.
};

void fields(auto& on, Like<TcpPlace> auto& place) {
    on.with(place.listener, put_address, take_address);
    on.require(!place.listener.ip.is_any() && place.listener.port != 0);
}

namespace {

constexpr std::uint64_t kBitsPerByte = 8;

/// The kernel can't limit a multipath connection's rate.
Shaping shaping_for(const EndpointPlan& plan) {
    return {.dscp = plan.dscp,
            .is_long_path = plan.is_leg,
            .is_multipath = plan.rails.size() > 1 && !limits_rate(plan.rate_max)};
}

struct Listener {
    UniqueFd fd;
    bool is_stray = false;  ///< On a port that was not supplied.
};

Result<Listener> open_listener(const Address& own,
                               const PortSupply& ports,
                               const Shaping& shaping) {
    if (ports.lent) {
        auto listener = listen_on_held(own.with_port(*ports.lent), shaping);
        if (listener) {
            return Listener{*std::move(listener)};
        }
        if (listener.error().cause() != EADDRINUSE) {
            return std::move(listener).error();
        }
    }
    for (const PortRun& run : ports.open_to_all) {
        auto listener = listen_in_range(own, run, shaping);
        if (listener) {
            return Listener{*std::move(listener)};
        }
        if (listener.error().cause() != EADDRINUSE) {
            return std::move(listener).error();
        }
    }
    TRY(auto stray, listen_in_range(own, {0, 0}, shaping));
    return Listener{.fd = std::move(stray), .is_stray = true};
}

}  // namespace

Result<Endpoint> TcpFabric::open(const EndpointPlan& plan) const {
    TRY(auto listener,
        open_listener(plan.rails.front().address, plan.ports, shaping_for(plan)));
    TRY(const auto bound, bound_address(listener.fd.get()));
    Endpoint endpoint{
        .fabric = std::string{name()},
        .stray_port = listener.is_stray ? std::optional{bound.port} : std::nullopt};
    endpoint.descriptors.push_back(std::move(listener.fd));
    return endpoint;
}

Result<Place> TcpFabric::place(Endpoint& own) const {
    TRY(const auto bound, bound_address(own.descriptors.front().get()));
    if (bound.ip.is_any()) {
        return Error{Blame::internal, "the data socket is bound to no address of this node"};
    }
    return Place{.host = bound.ip, .bytes = encoded(TcpPlace{bound})};
}

Result<Joined> TcpFabric::join(Endpoint own, const JoinPlan& plan) const {
    if (own.descriptors.size() != 1) {
        return Error{Blame::internal, "a TCP endpoint is one listener"};
    }
    TcpEndpoints endpoints{
        .listener = std::move(own.descriptors.front()),
        .own = plan.own,
        .packet_bytes_max = wire::kHeaderBytes + kChunkBytes + wire::kTagBytes,
        .data_ports = plan.data_ports};
    endpoints.shaping = shaping_of(endpoints.listener.get());
    if (limits_rate(plan.rate_max * kBitsPerByte)) {
        endpoints.shaping.bytes_per_s = plan.rate_max / plan.children_max;
        endpoints.shaping.is_multipath = false;
    }
    for (const auto& bytes : plan.places) {
        const auto place = decoded<TcpPlace>(bytes);
        if (!place) {
            return Error{Blame::internal,
                         "a member's TCP address in its card is not acceptable"};
        }
        endpoints.members.push_back(place->listener);
    }
    const Carrier carrier{
        .packet_bytes = static_cast<std::uint32_t>(endpoints.packet_bytes_max),
        .chunk_bytes_max = kChunkBytes};
    return Joined{.driver = std::make_unique<TcpDriver>(std::move(endpoints)),
                  .carrier = carrier};
}

}  // namespace stage::tcp
