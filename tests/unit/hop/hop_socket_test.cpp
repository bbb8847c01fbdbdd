// Tests the socket of hops: what it counts of what the kernel had no room for.
#include "transport/hop/hop_socket.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>

namespace stage::hop {
namespace {

UniqueFd loopback_socket() {
    UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    REQUIRE(socket);
    const SocketAddress any = Address::parse("127.0.0.1", 0)->to_socket();
    REQUIRE(::bind(socket.get(), any.get(), any.length) == 0);
    return socket;
}

TEST_CASE("datagrams for which the socket's buffer had no room are counted") {
    UniqueFd narrow = loopback_socket();
    const int small = 4096;
    const int on = 1;
    REQUIRE(::setsockopt(narrow.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    REQUIRE(::setsockopt(narrow.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on) == 0);
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    REQUIRE(::getsockname(narrow.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0);
    const auto to = Address::from_socket(reinterpret_cast<const sockaddr*>(&bound), length);
    REQUIRE(to);

    HopSocket sender{loopback_socket()};
    HopSocket receiver{std::move(narrow)};
    DriverCounters sent;
    DriverCounters received;
    const std::vector<std::byte> batch(20 * kShortDatagram);
    std::size_t heard = 0;
    const auto hear = [&heard](const Address&, Bytes) { ++heard; };
    CHECK(sender.send(sent, to->to_socket(), batch, kShortDatagram));
    while (receiver.receive(received, hear) > 0) {
    }
    CHECK(sender.send(sent, to->to_socket(), Bytes{batch}.first(100), kShortDatagram));
    CHECK(receiver.receive(received, hear) == 1);
    CHECK(heard < 21);
    CHECK(received.socket_overflow == 21 - heard);
    CHECK(sent.packets_sent == 21);
    CHECK(sent.send_refused == 0);
}

}  // namespace
}  // namespace stage::hop
