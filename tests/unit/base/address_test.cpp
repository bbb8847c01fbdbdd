#include "transport/base/address.h"

#include "tests/unit/hex.h"
#include "transport/base/ip_address.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("addresses are read from numbers and printed as they were") {
    const auto v4 = Address::parse("10.1.2.3", 6829);
    REQUIRE(v4);
    CHECK(v4->to_string() == "10.1.2.3:6829");
    CHECK_FALSE(v4->is_v6());
    const auto v6 = Address::parse("fd00::7", 1);
    REQUIRE(v6);
    CHECK(v6->to_string() == "[fd00::7]:1");
    CHECK(v6->host() == "fd00::7");
    for (const char* wrong : {"", "host", "10.1.2", "10.1.2.3.4", "10.1.2.3 ", "::g"}) {
        CHECK_FALSE(Address::parse(wrong, 1));
    }
}

TEST_CASE("a socket's address is the same value") {
    const Address address = *Address::parse("10.1.2.3", 77);
    const SocketAddress socket = address.to_socket();
    const auto back = Address::from_socket(socket.get(), socket.length);
    REQUIRE(back);
    CHECK(*back == address);
    CHECK_FALSE(Address::from_socket(socket.get(), 1));
}

TEST_CASE("a host is four or sixteen bytes") {
    CHECK(to_string(*parse_ip("10.1.2.3")) == "10.1.2.3");
    CHECK(ip_v4(0x0a010203) == *parse_ip("10.1.2.3"));
    CHECK(to_string(*parse_ip("fd00::7")) == "fd00::7");
    CHECK_FALSE(parse_ip("fd00::7%eth0"));
    CHECK(parse_ip("0.0.0.0")->is_any());
    CHECK(*ip_from_bytes(parse_ip("10.1.2.3")->bytes()) == *parse_ip("10.1.2.3"));
    CHECK_FALSE(ip_from_bytes(test::unhex("010203")));
}
