#include "stager/link/link_socket.h"

#include "tests/unit/link/link_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

using namespace stage;
using namespace std::chrono_literals;

namespace {

constexpr Duration kSilence = 30s;

/// A socket that listens on the loopback interface.
struct Listening {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    Address at = loopback(0);

    Listening() {
        const SocketAddress any = at.to_socket();
        REQUIRE(::bind(socket.get(), any.get(), any.length) == 0);
        REQUIRE(::listen(socket.get(), 8) == 0);
        at = loopback(port_of(socket.get()));
    }

    static std::uint16_t port_of(int fd) {
        sockaddr_in own{};
        socklen_t length = sizeof own;
        REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0);
        return ntohs(own.sin_port);
    }
};

int option_of(int fd, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    REQUIRE(::getsockopt(fd, level, name, &value, &length) == 0);
    return value;
}

/// The errno that connecting ends with.
int end_of(const BegunConnection& begun) {
    if (begun.cause != EINPROGRESS) {
        return begun.cause;
    }
    pollfd one{.fd = begun.socket.get(), .events = POLLOUT, .revents = 0};
    REQUIRE(::poll(&one, 1, 10'000) == 1);
    return option_of(begun.socket.get(), SOL_SOCKET, SO_ERROR);
}

}  // namespace

TEST_CASE("a connector's socket connects, and notices a silent peer") {
    const Listening there;
    const auto begun = begin_to_connect(there.at, kSilence);
    REQUIRE(begun);
    CHECK(end_of(*begun) == 0);
    const int fd = begun->socket.get();
    CHECK(option_of(fd, IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(option_of(fd, SOL_SOCKET, SO_KEEPALIVE) != 0);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 10);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 30'000);
}

TEST_CASE("a port that no program has open refuses the connection") {
    const Address closed = Listening{}.at;
    const auto begun = begin_to_connect(closed, kSilence);
    REQUIRE(begun);
    CHECK(end_of(*begun) == ECONNREFUSED);
}

TEST_CASE("a connector of root's has one of root's ports, but no management controller's",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Listening there;
    for (int i = 0; i < 8; ++i) {
        const auto begun = begin_to_connect(there.at, kSilence);
        REQUIRE(begun);
        const std::uint16_t port = Listening::port_of(begun->socket.get());
        CHECK(port < kUnprivilegedPorts);
        CHECK(port != 623);
        CHECK(port != 664);
    }
}
