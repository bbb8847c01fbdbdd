#include "stager/config/push_sources.h"

#include <catch2/catch.hpp>

using namespace stage;
using Entries = std::vector<std::string>;

namespace {

bool is_in(const char* address, const char* source) {
    const auto ip = parse_ip(address);
    REQUIRE(ip);
    return is_in_network(*ip, source);
}

}  // namespace

TEST_CASE("PushFrom is split at commas outside of brackets") {
    CHECK(read_push_sources("") == Entries{});
    CHECK(read_push_sources("login1") == Entries{"login1"});
    CHECK(read_push_sources("n[0-3,7],r[1]n[2], 10.1.0.7 ,10.2.0.0/16,fd00::/64") ==
          Entries{"n[0-3,7]", "r[1]n[2]", "10.1.0.7", "10.2.0.0/16", "fd00::/64"});
}

TEST_CASE("a malformed address is refused, and so is an empty one") {
    for (const char* text : {"10.0.0.300",
                             "10.0.0",
                             "10.0.0.0/33",
                             "10.0.0.0/",
                             "10.0.0.0/x",
                             "fd00::/129",
                             "fd00:::1",
                             "12",
                             ",",
                             "a,,b",
                             "n[0-3",
                             "n0-3]",
                             "n[[0]]",
                             "a b",
                             "a;b",
                             "n1/24"}) {
        CAPTURE(text);
        CHECK_FALSE(read_push_sources(text));
    }
}

TEST_CASE("an address lies in a network by its prefix") {
    CHECK(is_in("10.1.0.7", "10.1.0.7"));
    CHECK_FALSE(is_in("10.1.0.6", "10.1.0.7"));
    CHECK(is_in("10.1.255.255", "10.1.0.0/16"));
    CHECK_FALSE(is_in("10.2.0.0", "10.1.0.0/16"));
    CHECK(is_in("10.0.0.9", "10.0.0.8/30"));
    CHECK_FALSE(is_in("10.0.0.12", "10.0.0.8/30"));
    CHECK(is_in("203.0.113.1", "0.0.0.0/0"));
    CHECK(is_in("fd00::1:2", "fd00::/64"));
    CHECK_FALSE(is_in("fd00:0:0:1::2", "fd00::/64"));
    CHECK_FALSE(is_in("fd00::1", "0.0.0.0/0"));
    CHECK_FALSE(is_in("10.0.0.1", "::/0"));
    CHECK(is_network("10.0.0.0/8"));
    CHECK_FALSE(is_network("n[0-3]"));
}
