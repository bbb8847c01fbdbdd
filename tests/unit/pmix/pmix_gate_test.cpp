#include "pmix/host/gate.h"
#include "pmix/host/tcp.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace stage::pmix_host {
namespace {

constexpr int kWaitMs = 20'000;

IpAddress loopback() {
    return parse_ip("127.0.0.1").value();
}

std::uint16_t port_of(const UniqueFd& socket) {
    sockaddr_in place{};
    socklen_t length = sizeof(place);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &length) == 0);
    return ntohs(place.sin_port);
}

/// The server behind the gate, the gate, and its turns.
struct World {
    UniqueFd server;
    std::vector<std::string> lines;
    Logger log{[this](LogLevel, std::string_view line) { lines.emplace_back(line); },
               LogLevel::info};
    std::unique_ptr<Gate> gate;

    World() {
        Result<UniqueFd> listener = listen_tcp(loopback(), 0);
        REQUIRE(listener);
        server = *std::move(listener);
        Result<std::unique_ptr<Gate>> opened = Gate::open(log);
        REQUIRE(opened);
        gate = *std::move(opened);
    }

    [[nodiscard]] UniqueFd visit() const {
        Result<UniqueFd> socket = begin_connect(loopback(), gate->port());
        REQUIRE(socket);
        return *std::move(socket);
    }
    /// Turns of the gate's loop until `fd` has something to read.
    void until_readable(int fd) const {
        for (;;) {
            std::vector<pollfd> watched{{.fd = fd, .events = POLLIN, .revents = 0}};
            gate->watch(watched);
            REQUIRE(::poll(watched.data(), watched.size(), kWaitMs) > 0);
            gate->attend();
            if (watched[0].revents != 0) {
                return;
            }
        }
    }
};

std::string read_some(int fd) {
    std::array<char, 65536> room{};
    const ssize_t count = ::recv(fd, room.data(), room.size(), 0);
    return count > 0 ? std::string(room.data(), static_cast<std::size_t>(count)) : "";
}

TEST_CASE("the user's bytes pass both ways, and so does their end") {
    const World world;
    world.gate->lead_to(port_of(world.server), ::geteuid());
    UniqueFd worker = world.visit();
    world.until_readable(world.server.get());
    UniqueFd inner = accept_tcp(world.server);
    REQUIRE(inner);

    REQUIRE(::send(worker.get(), "hello", 5, 0) == 5);
    world.until_readable(inner.get());
    CHECK(read_some(inner.get()) == "hello");
    REQUIRE(::send(inner.get(), "you", 3, 0) == 3);
    world.until_readable(worker.get());
    CHECK(read_some(worker.get()) == "you");

    REQUIRE(::shutdown(worker.get(), SHUT_WR) == 0);
    world.until_readable(inner.get());
    CHECK(read_some(inner.get()).empty());
    REQUIRE(::send(inner.get(), "last", 4, 0) == 4);
    inner.reset();
    world.until_readable(worker.get());
    CHECK(read_some(worker.get()) == "last");
    world.until_readable(worker.get());
    CHECK(read_some(worker.get()).empty());
    CHECK(world.gate->refused() == 0);
}

TEST_CASE("more than the gate holds passes whole") {
    const World world;
    world.gate->lead_to(port_of(world.server), ::geteuid());
    const UniqueFd worker = world.visit();
    world.until_readable(world.server.get());
    const UniqueFd inner = accept_tcp(world.server);
    REQUIRE(inner);
    std::string table;
    for (std::size_t i = 0; i < 6U << 20U; ++i) {
        table += static_cast<char>(i * 31U % 251U);
    }
    std::string got;
    for (std::size_t sent = 0; got.size() < table.size();) {
        const ssize_t count =
            ::send(inner.get(), table.data() + sent, table.size() - sent, MSG_NOSIGNAL);
        REQUIRE((count >= 0 || errno == EAGAIN));
        sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        world.until_readable(worker.get());
        got += read_some(worker.get());
    }
    CHECK((got == table));
}

TEST_CASE("connections of other users are closed, counted and seldom logged") {
    World world;
    SECTION("before there is a job every user is refused") {
    }
    SECTION("another user's job") {
        world.gate->lead_to(port_of(world.server), ::geteuid() + 1);
    }
    for (int i = 0; i < 20; ++i) {
        const UniqueFd other = world.visit();
        world.until_readable(other.get());
        CHECK(read_some(other.get()).empty());
    }
    CHECK(world.gate->refused() == 20);
    REQUIRE(world.lines.size() == 2);
    CHECK(world.lines[0] ==
          "a connection of another user to this node's PMIx listener was refused; ask that "
          "user why uid=" +
              std::to_string(::geteuid()) + " count=1");
    CHECK_FALSE(accept_tcp(world.server));
}

TEST_CASE("a user has a bounded number of connections") {
    const World world;
    world.gate->lead_to(port_of(world.server), ::geteuid());
    std::vector<UniqueFd> held;
    for (std::size_t i = 0; i < Gate::kMaxPassed; ++i) {
        held.push_back(world.visit());
        world.until_readable(world.server.get());
        UniqueFd inner = accept_tcp(world.server);
        REQUIRE(inner);
        held.push_back(std::move(inner));
    }
    const UniqueFd fifth = world.visit();
    world.until_readable(fifth.get());
    CHECK(read_some(fifth.get()).empty());
    CHECK(world.gate->refused() == 1);
}

TEST_CASE("the kernel reports a connection's uid") {
    const Result<PeerUid> peers = PeerUid::open();
    REQUIRE(peers);
    const Result<UniqueFd> listener = listen_tcp(loopback(), 0);
    REQUIRE(listener);
    Result<UniqueFd> client = begin_connect(loopback(), port_of(*listener));
    REQUIRE(client);
    const UniqueFd visitor = accept_tcp(*listener);
    REQUIRE(visitor);
    const Result<uid_t> whose = peers->of(visitor.get());
    REQUIRE(whose);
    CHECK(*whose == ::geteuid());
    CHECK_FALSE(peers->of(listener->get()));
}

}  // namespace
}  // namespace stage::pmix_host
