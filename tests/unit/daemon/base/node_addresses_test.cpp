// Tests how long the address of a node counts as fresh.
#include "stager/daemon/base/node_addresses.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr Instant kNow{std::chrono::hours{1}};

}  // namespace

TEST_CASE("an address is fresh for a time, until its node can't be reached") {
    NodeAddresses addresses;
    CHECK_FALSE(addresses.of("n1"));
    CHECK_FALSE(addresses.is_fresh("n1", kNow));
    addresses.learn("n1", "10.0.0.1", kNow);
    CHECK(addresses.is_fresh("n1", kNow + kAddressAge));
    CHECK_FALSE(addresses.is_fresh("n1", kNow + kAddressAge + Duration{1}));
    addresses.learn("n1", "10.0.0.2");
    CHECK(addresses.of("n1") == "10.0.0.2");
    CHECK(addresses.is_fresh("n1", kNow));
    addresses.doubt("n1");
    CHECK(addresses.of("n1") == "10.0.0.2");
    CHECK_FALSE(addresses.is_fresh("n1", kNow));
}

TEST_CASE("an address whose age is not known is not fresh") {
    NodeAddresses addresses;
    addresses.doubt("n1");
    addresses.learn("n1", "10.0.0.1");
    CHECK(addresses.of("n1") == "10.0.0.1");
    CHECK_FALSE(addresses.is_fresh("n1", kNow));
}

}  // namespace stage
