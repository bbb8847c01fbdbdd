// Is a launcher's order understood, and is anything else refused?
#include "stager/worker/group_order.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

const std::string kKey(64, 'a');

}  // namespace

TEST_CASE("an order is a key and the members' addresses") {
    const auto order = parse_group_order(kKey + "\n10.0.0.1\n10.0.0.2\n");
    REQUIRE(order);
    CHECK(order->key[31] == std::byte{0xaa});
    REQUIRE(order->hosts.size() == 2);
    CHECK(to_string(order->hosts[1]) == "10.0.0.2");
}

TEST_CASE("an order without a key or without members is none") {
    CHECK_FALSE(parse_group_order(""));
    CHECK_FALSE(parse_group_order(kKey));
    CHECK_FALSE(parse_group_order(kKey + "\n"));
    CHECK_FALSE(parse_group_order(kKey.substr(1) + "\n10.0.0.1\n"));
    CHECK_FALSE(parse_group_order("10.0.0.1\n"));
    CHECK_FALSE(parse_group_order(kKey + "\n10.0.0.1 10.0.0.2\n"));
    CHECK_FALSE(parse_group_order(kKey + "\n0.0.0.0\n"));
}

TEST_CASE("a member knows itself by its address") {
    const auto order = parse_group_order(kKey + "\n203.0.113.251\n127.0.0.1\n");
    REQUIRE(order);
    const auto own = rank_of_this_host(order->hosts);
    REQUIRE(own);
    CHECK(*own == Rank{1});
    const auto strangers = parse_group_order(kKey + "\n203.0.113.251\n203.0.113.252\n");
    REQUIRE(strangers);
    CHECK_FALSE(rank_of_this_host(strangers->hosts));
}

}  // namespace stage
