// Tests that members with different numbers of interfaces receive one group.
#include "transport/udp/udp_fabric.h"

#include "transport/udp/sockets.h"
#include "transport/udp/udp_place.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

namespace stage::udp {
namespace {

Address address(const char* text, std::uint16_t port = 0) {
    const auto parsed = Address::parse(text, port);
    REQUIRE(parsed);
    return *parsed;
}

std::string kernels_groups() {
    std::ostringstream text;
    text << std::ifstream{"/proc/net/igmp"}.rdbuf();
    return text.str();
}

EndpointPlan plan_on(std::vector<std::string> interfaces) {
    EndpointPlan plan{.rails = {}, .ports = {.lent = {}, .open_to_all = {{41'000, 42'000}}}};
    for (std::string& name : interfaces) {
        plan.rails.push_back({.name = std::move(name), .address = address("127.0.0.1")});
    }
    return plan;
}

std::vector<std::byte> place(std::uint16_t port, std::uint8_t rails, std::uint32_t mtu) {
    return encode_place({.peer = address("10.0.0.1", port), .mtu = mtu, .rails = rails});
}

JoinPlan among(std::vector<std::vector<std::byte>> places, std::size_t flows) {
    return {.own = Rank{1},
            .source = Rank{0},
            .places = std::move(places),
            .group = [](std::size_t /*rails*/) { return address("239.77.203.8", 41'997); },
            .flows = flows,
            .data_ports = {}};
}

}  // namespace

TEST_CASE("a flow is a port further, its rail an address further") {
    const GroupFlows flows{.first = address("239.192.68.254", 6830), .flows = 6, .rails = 3};
    CHECK(flows.address(Flow{0}) == address("239.192.68.254", 6830));
    CHECK(flows.address(Flow{1}) == address("239.192.68.255", 6831));
    CHECK(flows.address(Flow{2}) == address("239.192.69.0", 6832));
    CHECK(flows.address(Flow{3}) == address("239.192.68.254", 6833));
    const GroupFlows one{.first = address("239.192.68.7", 6830), .flows = 2};
    CHECK(one.address(Flow{1}) == address("239.192.68.7", 6831));
    // All hosts of the LAN have one address.
    const GroupFlows all{.first = address("255.255.255.255", 6830), .flows = 2, .rails = 2};
    CHECK(all.address(Flow{1}) == address("255.255.255.255", 6831));
    const GroupFlows six{.first = address("ff35::ff", 6830), .flows = 2, .rails = 2};
    CHECK(six.address(Flow{1}) == address("ff35::100", 6831));
}

TEST_CASE("all use as many rails as the member with the fewest, each with a flow") {
    const UdpFabric fabric;
    const std::size_t asked = GENERATE(1U, 2U, 5U);
    auto endpoint = fabric.open(plan_on({"lo", "lo", "lo"}));
    REQUIRE(endpoint);
    auto joined =
        fabric.join(*std::move(endpoint),
                    among({place(1, 4, 9000), place(2, 2, 1500), place(3, 3, 1400)}, asked));
    REQUIRE(joined);
    CHECK(joined->carrier.rails == 2);
    CHECK(joined->carrier.flows == std::max<std::size_t>(asked, 2));
    CHECK(joined->carrier.packet_bytes == 1400 - 28);
    CHECK(joined->carrier.packet_bytes_fallback == 0);
    CHECK(joined->carrier.has_multicast);
    CHECK(joined->carrier.receive_buffer_bytes > 0);
}

TEST_CASE("a path may be narrower than the interfaces say") {
    const UdpFabric fabric;
    auto endpoint = fabric.open(plan_on({"lo"}));
    REQUIRE(endpoint);
    const auto joined =
        fabric.join(*std::move(endpoint), among({place(1, 1, 9000), place(2, 1, 9000)}, 1));
    REQUIRE(joined);
    CHECK(joined->carrier.packet_bytes == 9000 - 28);
    CHECK(joined->carrier.packet_bytes_fallback == 1500 - 28);
}

TEST_CASE("a place contains the smallest MTU and the number of interfaces") {
    const UdpFabric fabric;
    auto endpoint = fabric.open(plan_on({"lo", "lo"}));
    REQUIRE(endpoint);
    const auto own = fabric.place(*endpoint);
    REQUIRE(own);
    CHECK(own->bytes.size() <= kMaxPlaceBytes);
    const auto back = decode_place(own->bytes);
    REQUIRE(back);
    CHECK(back->rails == 2);
    CHECK(back->mtu == *interface_mtu("lo"));
    CHECK(back->peer.ip == own->host);
    CHECK(back->peer.port >= 41'000);
}

TEST_CASE("a place that is none is refused") {
    const auto good = place(7, 1, 1500);
    for (std::size_t length = 0; length < good.size(); ++length) {
        CHECK_FALSE(decode_place(Bytes{good}.first(length)));
    }
    CHECK_FALSE(decode_place(place(0, 1, 1500)));
    CHECK_FALSE(decode_place(place(7, 0, 1500)));
    CHECK_FALSE(decode_place(place(7, 17, 1500)));
    CHECK_FALSE(decode_place(place(7, 1, kMinMtu - 1)));
    CHECK_FALSE(decode_place(encode_place({.peer = address("0.0.0.0", 7)})));
    auto longer = good;
    longer.push_back(std::byte{});
    CHECK_FALSE(decode_place(longer));
}

TEST_CASE("flows of a rail that others lack are received on one that all have") {
    const UdpFabric fabric;
    EndpointPlan plan = plan_on({"lo", "lo"});
    plan.group = {.first = address("239.77.203.8", 41'997), .flows = 2, .rails = 2};
    plan.is_source = true;
    auto endpoint = fabric.open(plan);
    REQUIRE(endpoint);
    CHECK(endpoint->descriptors.size() == 1 + 2 + 1);
    CHECK(kernels_groups().find("09CB4DEF") != std::string::npos);
    const auto joined =
        fabric.join(*std::move(endpoint), among({place(1, 2, 1500), place(2, 1, 1500)}, 1));
    REQUIRE(joined);
    CHECK(joined->carrier.flows == 2);
    CHECK(joined->carrier.rails == 1);
    CHECK(joined->driver->outlets() == 1);
    CHECK(kernels_groups().find("09CB4DEF") != std::string::npos);
}

// Ports of other programs, scattered over DataPortRange, leave many short runs.
TEST_CASE("ports may be supplied in any number of runs") {
    const UdpFabric fabric;
    EndpointPlan plan = plan_on({"lo"});
    plan.ports.open_to_all.clear();
    for (std::uint16_t port = 41'000; port < 41'080;
         port = static_cast<std::uint16_t>(port + 2)) {
        plan.ports.open_to_all.emplace_back(port, port);
    }
    const bool has_group = GENERATE(true, false);
    if (has_group) {
        plan.group = {.first = address("239.77.203.8", 41'997)};
    }
    auto endpoint = fabric.open(plan);
    REQUIRE(endpoint);
    CHECK(fabric.place(*endpoint));
}

TEST_CASE("an endpoint whose description is another's is refused") {
    const UdpFabric fabric;
    auto endpoint = fabric.open(plan_on({"lo"}));
    REQUIRE(endpoint);
    endpoint->descriptors.clear();
    CHECK_FALSE(fabric.place(*endpoint));
    CHECK_FALSE(fabric.join(*std::move(endpoint), among({place(1, 1, 1500)}, 1)));
}

}  // namespace stage::udp
