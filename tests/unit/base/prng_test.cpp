#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <array>

using namespace stage;

// Computed apart, from Blackman and Vigna's definition seeded by splitmix64.
TEST_CASE("a seed gives the same numbers everywhere") {
    Prng prng{42};
    for (const std::uint64_t expected :
         {0x15780b2e0c2ec716U, 0x6104d9866d113a7eU, 0xae17533239e499a1U, 0xecb8ad4703b360a1U}) {
        CHECK(prng.next() == expected);
    }
}

TEST_CASE("draws stay within their bounds and reach all of them") {
    Prng prng{7};
    std::array<int, 6> seen{};
    for (int i = 0; i < 600; ++i) {
        const std::uint64_t drawn = prng.below(6);
        REQUIRE(drawn < 6);
        ++seen[drawn];
        const double unit = prng.unit();
        REQUIRE(unit >= 0.0);
        REQUIRE(unit < 1.0);
    }
    for (const int count : seen) {
        CHECK(count > 50);
    }
    CHECK(prng.below(1) == 0);
}

TEST_CASE("never is never and always is always") {
    Prng prng{1};
    for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(prng.chance_ppm(0));
        CHECK(prng.chance_ppm(1'000'000));
    }
}
