// Tests that a process without a free descriptor makes a connection later, and only that.
#include "tests/unit/scarce.h"
#include "transport/os/bound_address.h"
#include "transport/tcp/tcp_dialler.h"
#include "transport/tcp/tcp_driver.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <iterator>

namespace stage {
namespace {

constexpr LinkEnd kPeer{.peer = Rank{1}};
constexpr std::pair<std::uint16_t, std::uint16_t> kPorts{43'301, 43'400};
constexpr int kWaitMs = 20'000;

Address own() {
    return *Address::parse("127.0.0.1", 0);
}

UniqueFd listening() {
    auto listener = tcp::open_listener(own(), kPorts, {});
    REQUIRE(listener);
    return std::move(*listener);
}

/// Turns until the dial ends.
tcp::Dialled ended(tcp::TcpDialler& dialler) {
    std::vector<tcp::Dialled> all;
    pollfd wait{.fd = dialler.descriptor(), .events = POLLIN, .revents = 0};
    while (all.empty() && ::poll(&wait, 1, kWaitMs) == 1) {
        dialler.poll(all);
    }
    REQUIRE(all.size() == 1);
    return std::move(all.front());
}

TEST_CASE("without a descriptor no dial begins, and with one it does without a timer",
          "[tcp]") {
    const UniqueFd listener = listening();
    const Address address = *bound_address(listener.get());
    tcp::TcpDialler dialler{own(), {}};
    {
        const Scarce none{0};
        REQUIRE_FALSE(dialler.dial(kPeer, address));
        REQUIRE_FALSE(dialler.dial(kPeer, address));
    }
    {
        const Scarce one{1};
        REQUIRE(dialler.dial(kPeer, address));
        CHECK(ended(dialler).socket);
    }
    REQUIRE(dialler.dial(kPeer, address));
    CHECK(ended(dialler).socket);
}

TEST_CASE("where further attempts find no descriptor the first one goes on", "[tcp]") {
    const UniqueFd listener = listening();
    REQUIRE(::listen(listener.get(), 0) == 0);  // One may wait; further SYNs are dropped.
    const Address address = *bound_address(listener.get());
    const auto first = tcp::begin_connection(own(), address, {});
    REQUIRE(first);
    pollfd made{.fd = first->get(), .events = POLLOUT, .revents = 0};
    REQUIRE(::poll(&made, 1, kWaitMs) == 1);
    tcp::TcpDialler dialler{own(), {}};
    REQUIRE(dialler.dial(kPeer, address));
    const UniqueFd room =
        tcp::accept_connection(listener.get(), {});  // After its SYN was lost.
    REQUIRE(room);
    const Scarce none{0};
    CHECK(ended(dialler).socket);  // By TCP's own second SYN.
}

TEST_CASE("a driver without a descriptor reports that the connection ended, and makes it later",
          "[tcp]") {
    UniqueFd listener = listening();
    const Address address = *bound_address(listener.get());
    tcp::TcpEndpoints endpoints;
    endpoints.listener = listening();
    endpoints.packet_bytes_max = 100;
    endpoints.members = {*bound_address(endpoints.listener.get()), address};
    tcp::TcpDriver driver{std::move(endpoints)};
    std::vector<LinkEvent> events;
    for (int i = 0; i < 3; ++i) {
        const Scarce none{0};
        driver.connect(kPeer);
        driver.take_links(events);
    }
    REQUIRE(events.size() == 3);
    CHECK(events.back().kind == LinkEvent::Kind::closed);
    CHECK(events.back().peer == kPeer.peer);
    driver.connect(kPeer);
    pollfd dialled{.fd = listener.get(), .events = POLLIN, .revents = 0};
    CHECK(::poll(&dialled, 1, kWaitMs) == 1);
}

TEST_CASE("a connection for which a driver had no descriptor is taken later, without any event",
          "[tcp]") {
    tcp::TcpEndpoints endpoints;
    endpoints.listener = listening();
    const Address address = *bound_address(endpoints.listener.get());
    endpoints.packet_bytes_max = 100;
    endpoints.members = {address, own()};
    tcp::TcpDriver driver{std::move(endpoints)};
    const auto child = tcp::begin_connection(own(), address, {});
    REQUIRE(child);
    pollfd made{.fd = child->get(), .events = POLLOUT, .revents = 0};
    REQUIRE(::poll(&made, 1, kWaitMs) == 1);
    const std::array<char, 10> frame{0, 0, 0, 2, 0, 0, 0, 2, 'h', 'i'};
    REQUIRE(::write(child->get(), frame.data(), frame.size()) == std::ssize(frame));
    std::vector<ReceivedPacket> packets;
    {
        const Scarce none{0};
        REQUIRE(driver.receive(packets, {}));
    }
    pollfd wait{.fd = driver.descriptors().front(), .events = POLLIN, .revents = 0};
    for (int turn = 0; turn < 300 && packets.empty(); ++turn) {
        static_cast<void>(::poll(&wait, 1, 20));
        REQUIRE(driver.receive(packets, {}));
    }
    CHECK(packets.size() == 1);
}

}  // namespace
}  // namespace stage
