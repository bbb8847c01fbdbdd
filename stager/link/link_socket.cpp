#include "stager/link/link_socket.h"

#include "transport/base/random_value.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

void set_option(int fd, int level, int name, int value) {
    // Optional: the link works on a kernel without the option.
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

/// Makes every close of the socket a reset, so that its port is free at once: a close in the
/// usual way would keep it in TIME_WAIT for a minute, and programs that mount NFS could not
/// bind it.
void reset_at_close(int fd) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    // Optional: without it the port is only free later.
    static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

/// Gives the socket a source port that only root can bind, if one is free and this process may
/// bind it. One port serves connections to any number of peers.
bool take_privileged_port(int fd, IpFamily family) {
    constexpr unsigned kFirst = 600;  // Well-known services use the ports below.
    constexpr unsigned kEnd = 665;    // The kernel's NFS client has those from here on.
    constexpr unsigned kCount = kEnd - kFirst;
    static_assert(kEnd <= kUnprivilegedPorts);
    // A management controller that shares the network interface takes what comes to these.
    constexpr std::uint16_t kRmcp = 623;
    constexpr std::uint16_t kSecureRmcp = 664;
    // A service that starts later can still listen there, and a port whose last connection went
    // to another peer can be used again at once.
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    const unsigned begin = random_value<std::uint16_t>();
    for (unsigned tries = 0; tries < kCount; ++tries) {
        const auto port = static_cast<std::uint16_t>(kFirst + (begin + tries) % kCount);
        if (port == kRmcp || port == kSecureRmcp) {
            continue;
        }
        const SocketAddress any = Address{.ip = {.family = family}, .port = port}.to_socket();
        if (::bind(fd, any.get(), any.length) == 0) {
            return true;
        }
        if (errno != EADDRINUSE) {
            return false;
        }
    }
    return false;
}

}  // namespace

void prepare_link_socket(int socket, Duration silence_max) {
    constexpr int kKeepIdleMax = 32767;  // Seconds; more is refused.
    constexpr int kRtoMaxMs = 44;        // TCP_RTO_MAX_MS, of Linux 6.15.
    using std::chrono::duration_cast;
    const auto milliseconds =
        static_cast<int>(duration_cast<std::chrono::milliseconds>(silence_max).count());
    const int third = std::clamp(milliseconds / 3000, 1, kKeepIdleMax);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    // A peer whose machine has failed sends no end of stream: keep-alive detects it.
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, third);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, third);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
    // After an outage TCP retries soon, if the kernel has the option.
    set_option(socket, IPPROTO_TCP, kRtoMaxMs, 1000);
}

Result<BegunConnection> begin_to_connect(const Address& to, Duration silence_max) {
    constexpr int kPrivilegedTries = 16;
    const SocketAddress peer = to.to_socket();
    for (int tries = 0;; ++tries) {
        UniqueFd socket{::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
        if (!socket) {
            return Error::from_errno(Blame::node, "opening a TCP socket");
        }
        prepare_link_socket(socket.get(), silence_max);
        reset_at_close(socket.get());
        const bool is_privileged =
            tries < kPrivilegedTries && take_privileged_port(socket.get(), to.ip.family);
        if (::connect(socket.get(), peer.get(), peer.length) == 0) {
            return BegunConnection{std::move(socket), 0};
        }
        // The last connection from that port to this peer is in TIME_WAIT: tries another port.
        if (errno != EADDRNOTAVAIL || !is_privileged) {
            return BegunConnection{std::move(socket), errno};
        }
    }
}

}  // namespace stage
