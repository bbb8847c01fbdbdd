// Tests on which address a node listens for a relay.
#include "stager/daemon/run/data_sockets.h"

#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace stage {
namespace {

Address address(const char* text) {
    const auto parsed = Address::parse(text, 0);
    REQUIRE(parsed);
    return *parsed;
}

/// In a network of two interfaces, of which the second leads to 10.8.0.0/24: where a node
/// listens.
std::string place_of(const udp::Neighbours& neighbours) {
    const char* const network =
        "ip link set lo up && ip link add a0 type veth peer name a1 && "
        "ip link add b0 type veth peer name b1 && ip addr add 10.9.0.1/24 dev a0 && "
        "ip addr add 10.8.0.1/24 dev b0 && for i in a0 a1 b0 b1; do ip link set $i up; done";
    if (::unshare(CLONE_NEWNET) != 0 || std::system(network) != 0) {  // NOLINT: no threads
        return "";
    }
    const auto sockets = open_relay_sockets(default_config(), neighbours);
    const auto bound = sockets ? udp::bound_address(sockets->listener.get())
                               : Result<Address>{sockets.error()};
    return bound ? bound->host() : "";
}

TEST_CASE("a relay listens on the address that the other nodes know, or reach", "[root]") {
    if (!is_root()) {
        return;
    }
    const char* const known = GENERATE("10.8.0.1", "127.0.1.1", "127.0.0.1", "203.0.113.9");
    const udp::Neighbours neighbours{.own = address(known), .others = {address("10.8.0.2")}};
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(place_of(neighbours) == "10.8.0.1" ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stage
