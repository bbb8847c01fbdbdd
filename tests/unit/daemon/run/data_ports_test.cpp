// Tests that another program cannot take the ports that stages need.
#include "stager/daemon/run/data_ports.h"

#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"
#include "transport/os/bound_address.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

constexpr ConfigRange<std::uint16_t> kRange{41500, 41507};

Address at(const char* text, std::uint16_t port) {
    const auto parsed = Address::parse(text, port);
    REQUIRE(parsed);
    return *parsed;
}

UniqueFd bound(const Address& address, int option = 0, int kind = SOCK_DGRAM) {
    UniqueFd fd{::socket(address.family(), kind | SOCK_CLOEXEC, 0)};
    const int on = 1;
    if (option != 0) {
        static_cast<void>(::setsockopt(fd.get(), SOL_SOCKET, option, &on, sizeof on));
    }
    const SocketAddress target = address.to_socket();
    return ::bind(fd.get(), target.get(), target.length) == 0 ? std::move(fd) : UniqueFd{};
}

/// How many ports of the range a user takes who tries every way.
int taken_by_user() {
    const pid_t child = ::fork();
    if (child == 0) {
        int taken = 0;
        if (::setgid(2001) != 0 || ::setuid(2001) != 0) {
            ::_exit(99);
        }
        for (unsigned port = kRange.first; port <= kRange.last; ++port) {
            for (const int option : {0, SO_REUSEADDR, SO_REUSEPORT}) {
                for (const char* address :
                     {"0.0.0.0", "127.0.0.1", "239.77.0.3", "255.255.255.255"}) {
                    const auto place =
                        Address::parse(address, static_cast<std::uint16_t>(port));
                    taken += place && bound(*place, option) ? 1 : 0;
                }
                for (const char* address : {"0.0.0.0", "127.0.0.1", "::", "::1"}) {
                    const auto place =
                        Address::parse(address, static_cast<std::uint16_t>(port));
                    taken += place && bound(*place, option, SOCK_STREAM) ? 1 : 0;
                }
            }
        }
        ::_exit(taken);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

udp::SocketOptions options() {
    udp::SocketOptions options;
    options.interface = "lo";
    options.is_holder = true;
    return options;
}

}  // namespace

TEST_CASE("a user can take no port of the daemon's, and stages can use them all", "[root]") {
    if (!is_root()) {
        return;
    }
    DataPorts ports;
    ports.hold(kRange);
    CHECK(ports.taken().empty());
    CHECK(taken_by_user() == 0);
    // Groups share an address and a port; the nodes' own sockets never do.
    const Address group = at("239.77.0.3", kRange.first);
    auto one = udp::open_group_socket(group, options());
    auto other = udp::open_group_socket(group, options());
    CHECK((one && other));
    const Address all = at("255.255.255.255", kRange.first);
    auto broadcast = udp::open_group_socket(all, options());
    auto another = udp::open_group_socket(all, options());
    CHECK((broadcast && another));
    std::vector<UniqueFd> peers;
    std::set<std::uint16_t> used;
    for (unsigned port = kRange.first; port <= kRange.last; ++port) {
        auto peer =
            udp::open_peer_socket(at("127.0.0.1", 0), {kRange.first, kRange.last}, options());
        REQUIRE(peer);
        used.insert(bound_address(peer->get())->port);
        peers.push_back(*std::move(peer));
    }
    CHECK(used.size() == 8);
    std::vector<UniqueFd> listeners;
    for (const std::uint16_t port : used) {
        auto listener =
            tcp::listen_on_held(at("127.0.0.1", port), {.is_multipath = port % 2 == 0});
        REQUIRE(listener);
        listeners.push_back(*std::move(listener));
    }
    CHECK_FALSE(
        udp::open_peer_socket(at("127.0.0.1", 0), {kRange.first, kRange.last}, options()));
    CHECK(taken_by_user() == 0);
    peers[3].reset();
    CHECK(taken_by_user() == 0);
}

TEST_CASE("no stage receives what is sent to a held port that it does not use") {
    DataPorts ports;
    ports.hold(kRange);
    const UniqueFd sender = bound(at("127.0.0.1", 0));
    const auto peer =
        udp::open_peer_socket(at("127.0.0.1", 0), {kRange.first, kRange.first}, options());
    REQUIRE((sender && peer));
    for (const std::uint16_t port : {std::uint16_t{kRange.last}, kRange.first}) {
        const SocketAddress to = at("127.0.0.1", port).to_socket();
        CHECK(::sendto(sender.get(), "x", 1, 0, to.get(), to.length) == 1);
    }
    std::array<char, 4> bytes{};
    CHECK(::recv(peer->get(), bytes.data(), bytes.size(), MSG_DONTWAIT) == 1);
}

TEST_CASE("ports of other programs are left out, and flows lie side by side") {
    const auto foreign = static_cast<std::uint16_t>(kRange.first + 3);
    const UniqueFd agent = bound(at("0.0.0.0", foreign));
    REQUIRE(agent);
    DataPorts ports;
    ports.hold(kRange);
    CHECK(ports.taken() == DataPorts::Ports{foreign});
    CHECK(ports.open_to_all(kRange) == std::vector<DataPorts::Run>{{foreign, foreign}});
    std::set<std::uint16_t> drawn;
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
        drawn.insert(ports.draw(kRange, 3, draw, {}).value_or(0));
    }
    CHECK(drawn == std::set<std::uint16_t>{41500, 41504, 41505});
    CHECK(ports.draw(kRange, 4, 0, {}) == 41504);
    CHECK_FALSE(ports.draw(kRange, 4, 0, {41506}));
    CHECK_FALSE(ports.draw(kRange, 5, 0, {}));
}

TEST_CASE("a held port is lent to one stage at a time, first those that TCP has, too") {
    const auto foreign = static_cast<std::uint16_t>(kRange.first + 1);
    const UniqueFd server = bound(at("127.0.0.1", foreign), 0, SOCK_STREAM);
    REQUIRE(server);
    DataPorts ports;
    ports.hold(kRange);
    CHECK(ports.taken_tcp() == DataPorts::Ports{foreign});
    CHECK(ports.held() == 8);
    CHECK(ports.open_to_all(kRange).empty());
    std::vector<std::unique_ptr<LentPort>> lent;
    while (auto port = ports.lend()) {
        lent.push_back(std::move(port));
    }
    REQUIRE(lent.size() == 8);
    CHECK(lent.at(0)->port() == kRange.first);
    CHECK(lent.at(1)->port() == kRange.first + 2);
    CHECK(lent.back()->port() == foreign);
    lent.at(2).reset();
    const auto again = ports.lend();
    REQUIRE(again);
    CHECK(again->port() == kRange.first + 3);
}

TEST_CASE("of other programs' ports those are held that they have left") {
    DataPorts ports;
    {
        const UniqueFd server = bound(at("127.0.0.1", kRange.first), 0, SOCK_STREAM);
        const UniqueFd agent = bound(at("127.0.0.1", kRange.last));
        REQUIRE((server && agent));
        ports.hold(kRange);
        CHECK(ports.has_taken());
    }
    ports.hold(kRange);
    CHECK_FALSE(ports.has_taken());
    CHECK_FALSE(bound(at("0.0.0.0", kRange.first), SO_REUSEADDR, SOCK_STREAM));
}

TEST_CASE("ports of a range that is not the site's any more are let go") {
    DataPorts ports;
    ports.hold(kRange);
    CHECK_FALSE(bound(at("0.0.0.0", kRange.last)));
    ports.hold({kRange.first, static_cast<std::uint16_t>(kRange.last - 1)});
    CHECK(bound(at("0.0.0.0", kRange.last)));
    CHECK(ports.is_held(kRange.first));
}

}  // namespace stage
