#include "transport/core/relay/relay_tree.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace stage::core {
namespace {

RelayTree tree_of(std::uint32_t members, const Relay& relay, std::uint32_t stripe = 0) {
    return {.members = members, .source = Rank{3}, .relay = relay, .stripe = stripe};
}

std::vector<std::uint32_t> sizes_of(const RelayTree& tree) {
    std::vector<std::uint32_t> sizes(tree.members, 0);
    for (std::uint32_t place = 0; place < tree.members; ++place) {
        ++sizes[place];
        for (std::uint32_t at = place; at != 0;) {
            at = tree.parent(at);
            REQUIRE(at < tree.members);
            ++sizes[at];
            REQUIRE(sizes[at] <= tree.members);  // No member is its own ancestor.
        }
    }
    return sizes;
}

std::vector<std::uint32_t> children_of(const RelayTree& tree) {
    std::vector<std::uint32_t> children(tree.members, 0);
    for (std::uint32_t place = 1; place < tree.members; ++place) {
        ++children[tree.parent(place)];
    }
    return children;
}

std::vector<std::uint32_t> groups() {
    std::vector<std::uint32_t> all{1023, 1024, 1025, 4096, 16'384, 16'385};
    for (std::uint32_t members = 2; members <= 200; ++members) {
        all.push_back(members);
    }
    return all;
}

TEST_CASE("a tree reaches every member once, and knows how many are below each", "[relay]") {
    for (const std::uint32_t members : groups()) {
        for (const Relay& relay :
             {Relay{}, Relay::tree(2), Relay::tree(3), Relay::tree(16), Relay::two_trees()}) {
            if (relay.is_chain() && members > 1024) {
                continue;  // (In the square of the number.)
            }
            for (std::uint32_t stripe = 0; stripe < relay.stripes(); ++stripe) {
                CAPTURE(members, relay.number(), stripe);
                const RelayTree tree = tree_of(members, relay, stripe);
                const auto sizes = sizes_of(tree);
                bool is_right = true;
                for (std::uint32_t place = 0; place < members; ++place) {
                    is_right = is_right && tree.size_below(place) == sizes[place];
                    is_right = is_right && tree.place(tree.at(place)) == place;
                }
                CHECK(is_right);
            }
        }
    }
}

TEST_CASE("of two trees each member has children in one, and no path is long", "[relay]") {
    for (const std::uint32_t members : groups()) {
        CAPTURE(members);
        const auto first = children_of(tree_of(members, Relay::two_trees(), 0));
        const auto second = children_of(tree_of(members, Relay::two_trees(), 1));
        CHECK(first[0] == 1);
        CHECK(second[0] == 1);
        bool is_right = true;
        for (std::uint32_t place = 1; place < members; ++place) {
            is_right = is_right && first[place] <= 2 && second[place] <= 2 &&
                       (first[place] == 0 || second[place] == 0);
        }
        CHECK(is_right);
        const auto longest = static_cast<std::uint64_t>(std::bit_width(members - 1));
        for (const std::uint32_t stripe : {0U, 1U}) {
            const RelayTree tree = tree_of(members, Relay::two_trees(), stripe);
            std::uint32_t deepest = 0;
            for (std::uint32_t place = 1; place < members; ++place) {
                deepest = std::max(deepest, tree.depth(place));
            }
            CHECK(deepest <= longest);
            CHECK(deepest + 1 >= longest);
        }
    }
}

TEST_CASE("few paths of two trees lead from one half of the ranks to the other", "[relay]") {
    for (const std::uint32_t members : groups()) {
        CAPTURE(members);
        for (const std::uint32_t stripe : {0U, 1U}) {
            const RelayTree tree = tree_of(members, Relay::two_trees(), stripe);
            std::uint32_t crossing = 0;
            for (std::uint32_t place = 1; place < members; ++place) {
                crossing += (place > members / 2) != (tree.parent(place) > members / 2);
            }
            CHECK(crossing <= 2U * static_cast<std::uint64_t>(std::bit_width(members)));
        }
    }
}

}  // namespace
}  // namespace stage::core
