#include "stager/config/relay_choice.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;

RelayChoice chosen(std::uint64_t bytes, std::uint32_t members) {
    return choose_relay({.object_bytes = bytes, .members = members});
}

TEST_CASE("few members go by a chain, small objects by a tree, many members by two") {
    CHECK_FALSE(chosen(10 * kGigabyte, 1000).relay.has_two_trees());
    CHECK(chosen(10 * kGigabyte, 16'384).relay.has_two_trees());
    CHECK_FALSE(chosen(kGigabyte, 64).relay.has_two_trees());
    CHECK(chosen(kGigabyte, 1000).relay.has_two_trees());
    CHECK_FALSE(chosen(16'000'000, 255).relay.has_two_trees());
    CHECK(chosen(16'000'000, 256).relay.has_two_trees());
    CHECK_FALSE(chosen(100'000, 1000).relay.has_two_trees());
    CHECK(chosen(100'000, 1000).relay.degree() > 1);
    CHECK(chosen(kGigabyte, 64).relay.degree() == 1);
    for (const std::uint32_t members : {1U, 2U}) {
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, 10 * kGigabyte}) {
            CHECK_FALSE(chosen(bytes, members).relay.has_two_trees());
            CHECK(chosen(bytes, members).relay.degree() == 1);
        }
    }
}

TEST_CASE("from some number of members on two trees stay the choice") {
    for (const std::uint64_t megabytes : {4U, 16U, 64U, 1000U, 10'000U}) {
        CAPTURE(megabytes);
        bool was_two = false;
        for (std::uint32_t members = 2; members <= 16'384; members += 1 + members / 8) {
            CAPTURE(members);
            const bool is_two = chosen(megabytes * 1'000'000, members).relay.has_two_trees();
            CHECK((is_two || !was_two));
            was_two = is_two;
        }
        CHECK(was_two);
    }
}

TEST_CASE("the choice of a relay says what the other one would take, or who asked") {
    CHECK(chosen(10 * kGigabyte, 16'384).why ==
          "two trees: a chain would take 1.23 times as long");
    CHECK(chosen(kGigabyte, 2).why == "a chain: there is one receiver");
    CHECK(chosen(kGigabyte, 17).why == "a chain: two trees are for 256 nodes and more");
    CHECK(chosen(10 * kGigabyte, 1000).why == "a chain: two trees would save less than 5 %");
    CHECK(chosen(100'000, 1000).why.find("a tree of degree ") == 0);
    RelayFacts facts{.object_bytes = 1, .members = 3, .asked = RelayShape::two_trees};
    CHECK(choose_relay(facts).relay.has_two_trees());
    CHECK(choose_relay(facts).why == "two trees, as asked for");
    facts = {.object_bytes = 10 * kGigabyte, .members = 16'384, .asked = RelayShape::chain};
    CHECK_FALSE(choose_relay(facts).relay.has_two_trees());
    CHECK(choose_relay(facts).relay.degree() == 1);
}

}  // namespace
}  // namespace stage
