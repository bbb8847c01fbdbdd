#include "stager/daemon/tree/tree.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {
Rank rank(std::size_t number) {
    return Rank{static_cast<Rank::rep>(number)};
}
}  // namespace

TEST_CASE("every node but the root hangs below exactly one") {
    const auto size = GENERATE(range(1U, 40U));
    const auto width = GENERATE(1U, 2U, 3U, 16U);
    CAPTURE(size, width);
    const Tree tree{size, width};
    std::vector<std::size_t> parents(size, 0);
    for (std::size_t above = 0; above < size; ++above) {
        CHECK(tree.children(rank(above)).size() <= width);
        for (const Rank child : tree.children(rank(above))) {
            REQUIRE(child.index() < size);
            ++parents[child.index()];
            CHECK(tree.parent(child) == rank(above));
            CHECK(tree.depth(child) == tree.depth(rank(above)) + 1);
        }
    }
    CHECK(parents[0] == 0);
    CHECK_FALSE(tree.parent(rank(0)));
    for (std::size_t below = 1; below < size; ++below) {
        CHECK(parents[below] == 1);
        CHECK(tree.is_ancestor(rank(0), rank(below)));
        CHECK_FALSE(tree.is_ancestor(rank(below), rank(0)));
        CHECK_FALSE(tree.is_ancestor(rank(below), rank(below)));
    }
}

TEST_CASE("an ancestor is a parent, or a parent of an ancestor") {
    const Tree tree{15, 2};
    CHECK(tree.is_ancestor(rank(1), rank(9)));
    CHECK(tree.is_ancestor(rank(4), rank(9)));
    CHECK_FALSE(tree.is_ancestor(rank(3), rank(9)));
    CHECK_FALSE(tree.is_ancestor(rank(2), rank(9)));
}
