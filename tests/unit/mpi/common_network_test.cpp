// Tests at which of its addresses each member of a call is reached.
#include "stager/mpi/addresses/common_network.h"

#include <catch2/catch.hpp>

#include <string>

namespace stage {
namespace {

using Hosts = std::vector<std::vector<CallAddress>>;

CallAddress at(const std::string& address, std::uint8_t bits) {
    return {.ip = parse_ip(address).value(), .prefix_bits = bits};
}

std::vector<std::string> chosen(const Hosts& hosts) {
    std::vector<std::string> names;
    for (const IpAddress& ip : common_network(hosts).value_or(std::vector<IpAddress>{})) {
        names.push_back(to_string(ip));
    }
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the members of a call meet in the first subnet that all have") {
    const Hosts hosts{{at("192.168.1.1", 24), at("10.0.0.1", 16)},
                      {at("192.168.2.2", 24), at("10.0.0.2", 16)},
                      {at("10.0.7.3", 16)}};
    CHECK(chosen(hosts) == Names{"10.0.0.1", "10.0.0.2", "10.0.7.3"});
}

TEST_CASE("a bridge for containers, which has one address on all hosts, is no network") {
    const Hosts hosts{{at("172.17.0.1", 16), at("10.0.0.1", 24)},
                      {at("172.17.0.1", 16), at("10.0.0.2", 24)}};
    CHECK(chosen(hosts) == Names{"10.0.0.1", "10.0.0.2"});
}

TEST_CASE("hosts without a common subnet use the best address of each") {
    const Hosts routed{{at("10.1.0.1", 24), at("fd00::1", 64)},
                       {at("fd01::2", 64), at("10.2.0.1", 24)}};
    CHECK(chosen(routed) == Names{"10.1.0.1", "10.2.0.1"});
    CHECK(chosen({{at("10.1.0.1", 32)}, {at("10.1.0.2", 32)}}) ==
          Names{"10.1.0.1", "10.1.0.2"});
}

TEST_CASE("hosts with the same address, or with none, have no network") {
    CHECK(chosen({{at("10.0.0.1", 24)}, {at("10.0.0.1", 24)}}).empty());
    CHECK(chosen({{at("10.0.0.1", 24)}, {at("fd00::1", 64)}}).empty());
    CHECK(chosen({{at("10.0.0.1", 24)}, {}}).empty());
    CHECK(chosen({}).empty());
}

TEST_CASE("a subnet of IPv6 counts by all of its bits") {
    const Hosts hosts{{at("fd00:0:0:1::1", 64), at("fd00:0:0:2::1", 64)},
                      {at("fd00:0:0:2::2", 64)}};
    CHECK(chosen(hosts) == Names{"fd00:0:0:2::1", "fd00:0:0:2::2"});
}

}  // namespace stage
