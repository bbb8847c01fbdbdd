// Tests on which address a node listens for a relay.
#include "stager/daemon/run/data_sockets.h"

#include "stager/daemon/run/data_ports.h"
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
    const auto sockets = open_relay_sockets(
        default_config(), {.lent = {}, .open_to_all = {{42'300, 42'400}}}, neighbours);
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

std::uint16_t port_of(const Result<DataSockets>& sockets) {
    REQUIRE(sockets);
    const auto bound = udp::bound_address(sockets->listener.get());
    REQUIRE(bound);
    return bound->port;
}

TEST_CASE("a relay listens on the port that was lent, on one that is open to all, or on any") {
    Config config = default_config();
    config.data_port_range = {42'410, 42'413};
    DataPorts ports;
    ports.hold(config.data_port_range);
    const udp::Neighbours neighbours{.own = address("127.0.0.1"), .others = {}};
    const auto lent = ports.lend();
    REQUIRE(lent);
    const auto on_lent = open_relay_sockets(
        config, {.lent = lent->port(), .open_to_all = {{42'420, 42'420}}}, neighbours);
    CHECK(port_of(on_lent) == lent->port());
    CHECK_FALSE(port_beyond_range(config, *on_lent));
    const StagePorts open{.lent = {}, .open_to_all = {{42'420, 42'420}, {42'422, 42'422}}};
    const auto first = open_relay_sockets(config, open, neighbours);
    CHECK(port_of(first) == 42'420);
    const auto second = open_relay_sockets(config, open, neighbours);
    CHECK(port_of(second) == 42'422);
    const auto third = open_relay_sockets(config, open, neighbours);
    CHECK(port_beyond_range(config, *third) == port_of(third));
}

TEST_CASE("a stage without a port says whose ports are in use") {
    Config config = default_config();
    config.interfaces = {{"lo"}};
    DataPorts ports;
    ports.hold({42'430, 42'430});
    const udp::GroupFlows flows{.first = *Address::parse("239.255.77.7", 42'430)};
    const udp::Neighbours neighbours{.own = address("127.0.0.1"), .others = {}};
    const auto open = [&](const StagePorts& stage) {
        return open_data_sockets(config, stage, flows, neighbours, true, false);
    };
    const StagePorts lent{.lent = std::uint16_t{42'430}, .open_to_all = {}};
    const auto first = open(lent);
    REQUIRE(first);
    CHECK(udp::bound_address(first->unicast.get())->port == 42'430);
    StagePorts taken{.lent = {}, .open_to_all = {{42'430, 42'430}}};
    CHECK_THAT(open(taken).error().sentence(), Catch::StartsWith("all UDP ports 42430-42430"));
    taken.is_share_used = true;
    CHECK_THAT(open(taken).error().sentence(),
               Catch::StartsWith("this user's other stages here have the user's share") &&
                   Catch::Contains("all UDP ports 42430-42430"));
    CHECK_THAT(open({}).error().sentence(), Catch::Contains("DataPortRange"));
}

}  // namespace
}  // namespace stage
