// Tests on which addresses and ports the daemon opens a stage's endpoints.
#include "stager/daemon/run/data_endpoints.h"

#include "stager/daemon/run/data_ports.h"
#include "tests/unit/root.h"
#include "transport/os/bound_address.h"

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

EndpointOrder relay_among(const Neighbours& neighbours) {
    return {.transport = Transport::tcp, .group = {}, .neighbours = neighbours};
}

/// In a network of two interfaces, of which the second leads to 10.8.0.0/24: where a node
/// listens.
std::string place_of(const Neighbours& neighbours) {
    const char* const network =
        "ip link set lo up && ip link add a0 type veth peer name a1 && "
        "ip link add b0 type veth peer name b1 && ip addr add 10.9.0.1/24 dev a0 && "
        "ip addr add 10.8.0.1/24 dev b0 && for i in a0 a1 b0 b1; do ip link set $i up; done";
    if (::unshare(CLONE_NEWNET) != 0 || std::system(network) != 0) {  // NOLINT: no threads
        return "";
    }
    const auto endpoints = open_endpoints(default_config(),
                                          {.lent = {}, .open_to_all = {{42'300, 42'400}}},
                                          relay_among(neighbours));
    const auto bound = endpoints ? bound_address(endpoints->front().descriptors.front().get())
                                 : Result<Address>{endpoints.error()};
    return bound ? bound->host() : "";
}

TEST_CASE("a relay listens on the address that the other nodes know, or reach", "[root]") {
    if (!is_root()) {
        return;
    }
    const char* const known = GENERATE("10.8.0.1", "127.0.1.1", "127.0.0.1", "203.0.113.9");
    const Neighbours neighbours{.own = address(known), .others = {address("10.8.0.2")}};
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(place_of(neighbours) == "10.8.0.1" ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}

std::uint16_t port_of(const Result<std::vector<Endpoint>>& endpoints) {
    REQUIRE(endpoints);
    const auto bound = bound_address(endpoints->front().descriptors.front().get());
    REQUIRE(bound);
    return bound->port;
}

TEST_CASE("a relay listens on the port that was lent, on one that is open to all, or on any") {
    Config config = default_config();
    config.data_port_range = {42'410, 42'413};
    DataPorts ports;
    ports.hold(config.data_port_range);
    const Neighbours neighbours{.own = address("127.0.0.1"), .others = {}};
    const auto lent = ports.lend();
    REQUIRE(lent);
    const EndpointOrder order = relay_among(neighbours);
    const auto on_lent = open_endpoints(
        config, {.lent = lent->port(), .open_to_all = {{42'420, 42'420}}}, order);
    CHECK(port_of(on_lent) == lent->port());
    CHECK_FALSE(port_beyond_range(config, *on_lent));
    const PortSupply open{.lent = {}, .open_to_all = {{42'420, 42'420}, {42'422, 42'422}}};
    const auto first = open_endpoints(config, open, order);
    CHECK(port_of(first) == 42'420);
    const auto second = open_endpoints(config, open, order);
    CHECK(port_of(second) == 42'422);
    const auto third = open_endpoints(config, open, order);
    CHECK(port_beyond_range(config, *third) == port_of(third));
}

TEST_CASE("a stage without a port says whose ports are in use") {
    Config config = default_config();
    config.interfaces = {{"lo"}};
    DataPorts ports;
    ports.hold({42'430, 42'430});
    const Neighbours neighbours{.own = address("127.0.0.1"), .others = {}};
    const EndpointOrder order{.transport = Transport::udp,
                              .group = {.first = *Address::parse("239.255.77.7", 42'430)},
                              .neighbours = neighbours,
                              .is_source = true};
    const auto open = [&](const PortSupply& stage) {
        return open_endpoints(config, stage, order);
    };
    const PortSupply lent{.lent = std::uint16_t{42'430}, .open_to_all = {}};
    const auto first = open(lent);
    REQUIRE(first);
    CHECK(port_of(first) == 42'430);
    PortSupply taken{.lent = {}, .open_to_all = {{42'430, 42'430}}};
    CHECK_THAT(open(taken).error().sentence(), Catch::StartsWith("all UDP ports 42430-42430"));
    taken.is_share_used = true;
    CHECK_THAT(open(taken).error().sentence(),
               Catch::StartsWith("this user's other stages here have the user's share") &&
                   Catch::Contains("all UDP ports 42430-42430"));
    CHECK_THAT(open({}).error().sentence(), Catch::Contains("DataPortRange"));
}

}  // namespace
}  // namespace stage
