#include "transport/tcp/tcp_socket.h"

#include "tests/unit/root.h"
#include "transport/os/bound_address.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace stage {
namespace {

constexpr int kTcpRtoMinUs = 45;  // TCP_RTO_MIN_US

/// Microseconds; 0: the kernel has no such option.
int least_timeout(int socket) {
    int value = 0;
    socklen_t length = sizeof value;
    return ::getsockopt(socket, IPPROTO_TCP, kTcpRtoMinUs, &value, &length) == 0 ? value : 0;
}

/// Two connections of one port, the only one that there is, to two listeners.
bool has_two_of_one_port() {
    const Address own = *Address::parse("127.0.0.1", 0);
    std::vector<UniqueFd> made;
    for (int i = 0; i < 2; ++i) {
        auto listener = tcp::open_listener(own, {43'201, 43'300}, {});
        const auto place =
            listener ? bound_address(listener->get()) : Result<Address>{listener.error()};
        auto child =
            place ? tcp::begin_connection(own, *place, {}) : Result<UniqueFd>{place.error()};
        pollfd stands{.fd = child ? child->get() : -1, .events = POLLOUT, .revents = 0};
        if (!child || ::poll(&stands, 1, 10'000) != 1 ||
            tcp::connection_error(child->get()) != 0) {
            return false;
        }
        made.push_back(std::move(*listener));
        made.push_back(std::move(*child));
    }
    return true;
}

TEST_CASE("both ends of a connection time out sooner than TCP by itself", "[tcp]") {
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    const auto listener = tcp::open_listener(*own, {43'201, 43'300}, {});
    REQUIRE(listener);
    const auto child = tcp::begin_connection(*own, *bound_address(listener->get()), {});
    REQUIRE(child);
    pollfd made{.fd = listener->get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&made, 1, 10'000) == 1);
    const UniqueFd parent = tcp::accept_connection(listener->get(), {});
    REQUIRE(parent);
    const UniqueFd plain{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (least_timeout(plain.get()) == 0) {
        WARN("this kernel has no least time-out for a socket");
        return;
    }
    for (const int socket : {child->get(), parent.get()}) {
        CHECK(least_timeout(socket) >= 50'000);  // In whole ticks of the kernel.
        CHECK(least_timeout(socket) < 100'000);
    }
}

TEST_CASE("a listener's filter has room for a thousand hosts, and drops all others", "[tcp]") {
    const Address own = *Address::parse("127.0.0.1", 0);
    const std::size_t at = GENERATE(0U, 249U, 250U, 251U, 999U, 1000U);
    CAPTURE(at);
    std::vector<IpAddress> hosts;
    for (int i = 0; i < 1000; ++i) {
        const std::string text =
            "192.168." + std::to_string(i / 200) + '.' + std::to_string(1 + i % 200);
        hosts.push_back(Address::parse(text, 0)->ip);
    }
    if (at < hosts.size()) {
        hosts[at] = own.ip;
    }
    const auto listener = tcp::open_listener(own, {43'201, 43'300}, {});
    REQUIRE(listener);
    tcp::drop_others(listener->get(), hosts);
    socklen_t instructions = 0;
    REQUIRE(::getsockopt(listener->get(), SOL_SOCKET, SO_GET_FILTER, nullptr, &instructions) ==
            0);
    CHECK(instructions > hosts.size());
    const auto place = bound_address(listener->get());
    REQUIRE(place);
    const auto child = tcp::begin_connection(own, *place, {});
    REQUIRE(child);
    pollfd stands{.fd = child->get(), .events = POLLOUT, .revents = 0};
    const bool is_member = at < hosts.size();
    CHECK(::poll(&stands, 1, is_member ? 10'000 : 50) == (is_member ? 1 : 0));
}

TEST_CASE("a multipath listener takes multipath connections and plain ones", "[tcp]") {
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    const auto plain = tcp::open_listener(*own, {43'201, 43'300}, {});
    REQUIRE(plain);
    CHECK_FALSE(tcp::shaping_of(plain->get()).is_multipath);
    const auto listener = tcp::open_listener(*own, {43'201, 43'300}, {.is_multipath = true});
    REQUIRE(listener);  // Of one kind or the other.
    const auto place = bound_address(listener->get());
    REQUIRE(place);
    for (const bool is_multipath : {true, false}) {
        const tcp::Shaping shaping{.is_multipath = is_multipath};
        const auto child = tcp::begin_connection(*own, *place, shaping);
        REQUIRE(child);
        pollfd made{.fd = listener->get(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&made, 1, 10'000) == 1);
        const UniqueFd parent = tcp::accept_connection(listener->get(), shaping);
        REQUIRE(parent);
        CHECK(::send(parent.get(), "x", 1, MSG_NOSIGNAL) == 1);
        pollfd readable{.fd = child->get(), .events = POLLIN, .revents = 0};
        CHECK(::poll(&readable, 1, 10'000) == 1);
    }
}

TEST_CASE("a listener's DSCP can be asked for, for what is dialled beside it", "[tcp]") {
    for (const char* const any : {"127.0.0.1", "::1"}) {
        const auto own = Address::parse(any, 0);
        REQUIRE(own);
        const auto listener = tcp::open_listener(*own, {43'201, 43'300}, {.dscp = 10});
        if (!listener) {
            CHECK(own->is_v6());  // Not every machine has it.
            continue;
        }
        CHECK(tcp::shaping_of(listener->get()).dscp == 10);
    }
}

TEST_CASE("a port that has a connection to one host is used for another's", "[root][tcp]") {
    if (!is_root()) {
        return;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_made =
            ::unshare(CLONE_NEWNET) == 0 &&
            std::system(
                "ip link set lo up && "  // NOLINT: no threads
                "echo 43777 43777 > /proc/sys/net/ipv4/ip_local_port_range") == 0;
        ::_exit(is_made && has_two_of_one_port() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stage
