#include "transport/hop/hop_fabric.h"

#include "transport/base/fields.h"
#include "transport/fabric/address_field.h"
#include "transport/hop/hop_driver.h"
#include "transport/os/bound_address.h"
#include "transport/tcp/tcp_fabric.h"
#include "transport/udp/sockets.h"

#include <algorithm>
#include <utility>

namespace stage::hop {

/// Where a member is found both ways.
struct HopPlace {
    Address socket;
    std::vector<std::uint8_t> tcp;  ///< Its place in that fabric.
};

void fields(auto& on, Like<HopPlace> auto& place) {
    on.with(place.socket, put_address, take_address);
    on.list(place.tcp, kMaxPlaceBytes, [](auto& inner, auto& octet) { inner.number(octet); });
    on.require(!place.socket.ip.is_any() && place.socket.port != 0);
}

namespace {

constexpr std::size_t kDescriptors = 2;  ///< TCP's listener, and the UDP socket.

Endpoint tcp_of(Endpoint& both) {
    Endpoint tcp{.fabric = std::string{tcp::TcpFabric{}.name()}};
    tcp.descriptors.push_back(std::move(both.descriptors.front()));
    return tcp;
}

std::vector<std::byte> bytes_of(const std::vector<std::uint8_t>& octets) {
    const auto bytes = std::as_bytes(std::span{octets});
    return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<Endpoint> HopFabric::open(const EndpointPlan& plan) const {
    TRY(auto tcp, tcp::TcpFabric{}.open(plan));
    const udp::SocketOptions options{.interface = plan.rails.front().name,
                                     .ttl = plan.ttl,
                                     .dscp = plan.dscp,
                                     .buffer_bytes = plan.buffer_bytes,
                                     .force_buffer = plan.force_buffer,
                                     .carries_blocks = true,
                                     .is_holder = plan.holds_ports};
    TRY(auto socket, open_on_port(plan.ports, [&](const PortRun& run) {
            return udp::open_peer_socket(plan.rails.front().address, run, options);
        }));
    Endpoint endpoint{.fabric = std::string{name()}, .stray_port = tcp.stray_port};
    endpoint.descriptors.push_back(std::move(tcp.descriptors.front()));
    endpoint.descriptors.push_back(std::move(socket));
    return endpoint;
}

Result<Place> HopFabric::place(Endpoint& own) const {
    if (own.descriptors.size() != kDescriptors) {
        return Error{Blame::internal, "a hop's endpoint is a listener and a socket"};
    }
    HopPlace place;
    TRY(place.socket, bound_address(own.descriptors.back().get()));
    Endpoint tcp = tcp_of(own);
    auto listens = tcp::TcpFabric{}.place(tcp);
    own.descriptors.front() = std::move(tcp.descriptors.front());
    if (!listens) {
        return std::move(listens).error();
    }
    for (const std::byte octet : listens->bytes) {
        place.tcp.push_back(std::to_integer<std::uint8_t>(octet));
    }
    return Place{.host = listens->host, .bytes = encoded(place)};
}

std::optional<Objection> HopFabric::objection(
    const std::vector<std::vector<std::byte>>& places) const {
    const auto without = std::ranges::find_if(places, &std::vector<std::byte>::empty);
    if (without == places.end()) {
        return std::nullopt;
    }
    return Objection{.member = Rank{static_cast<std::uint16_t>(without - places.begin())},
                     .why = "WideArea=tcp in its stagecast.conf"};
}

Result<Joined> HopFabric::join(Endpoint own, const JoinPlan& plan) const {
    if (own.descriptors.size() != kDescriptors) {
        return Error{Blame::internal, "a hop's endpoint is a listener and a socket"};
    }
    HopEndpoints endpoints{.socket = std::move(own.descriptors.back()),
                           .tcp = nullptr,
                           .own = plan.own,
                           .rate_max = plan.rate_max,
                           .data_ports = plan.data_ports};
    JoinPlan by_tcp = plan;
    by_tcp.places.clear();
    for (const auto& bytes : plan.places) {
        const auto place = decoded<HopPlace>(bytes);
        if (!place) {
            return Error{Blame::internal, "a member's hop in its card is not acceptable"};
        }
        endpoints.members.push_back(place->socket);
        by_tcp.places.push_back(bytes_of(place->tcp));
    }
    TRY(auto tcp, tcp::TcpFabric{}.join(tcp_of(own), by_tcp));
    endpoints.tcp = std::move(tcp.driver);
    return Joined{.driver = std::make_unique<HopDriver>(std::move(endpoints)),
                  .carrier = tcp.carrier};
}

}  // namespace stage::hop
