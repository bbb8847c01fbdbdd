#include "stager/daemon/tree/failures.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {
const std::vector<std::string> kNames{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};

Failure of(std::uint16_t rank, std::string sentence = "disk full") {
    return {Rank{rank}, Blame::user, std::move(sentence)};
}
}  // namespace

TEST_CASE("one failure is a message that names the node") {
    Failures failures;
    CHECK(failures.empty());
    CHECK(failures.add(of(3, "/x: No space left on device")));
    CHECK(failures.sentence(kNames) == "node n3: /x: No space left on device");
}

TEST_CASE("the lowest rank speaks first, whatever came first") {
    Failures failures;
    CHECK(failures.add(of(5, "no permission")));
    CHECK(failures.add(of(2)));
    CHECK_FALSE(failures.add(of(5, "again")));
    CHECK(failures.sentence(kNames) ==
          "node n2: disk full (and 1 more node: n5: no permission)");
}

TEST_CASE("of many failures a few are named and all counted, in any order of arrival") {
    Failures rising;
    Failures falling;
    for (std::uint16_t rank = 0; rank < 8; ++rank) {
        CHECK(rising.add(of(rank)) == (rank < 4));
        CHECK(falling.add(of(static_cast<std::uint16_t>(7 - rank))));
    }
    CHECK(rising.sentence(kNames) == falling.sentence(kNames));
    CHECK(
        rising.sentence(kNames) ==
        "node n0: disk full (and 7 more nodes: n1: the same; n2: the same; n3: the same; ...)");
    CHECK_FALSE(falling.add(of(7)));
}

TEST_CASE("the nodes at fault are known if few failed, and not all but one") {
    const auto suspects = [](const std::vector<Failure>& all, std::size_t nodes) {
        Failures failures;
        for (Failure one : all) {
            one.blame = one.sentence == "quota" ? Blame::user : Blame::node;
            failures.add(one);
        }
        return failures.suspects(nodes);
    };
    CHECK(suspects({}, 8).empty());
    CHECK(suspects({of(1)}, 2) == std::vector{Rank{1}});
    CHECK(suspects({of(1), of(2)}, 8) == std::vector{Rank{1}, Rank{2}});
    CHECK(suspects({of(1), of(2)}, 3).empty());
    CHECK(suspects({of(1), of(2), of(3), of(4), of(5)}, 64).empty());
    CHECK(suspects({of(1, "quota"), of(2)}, 8) == std::vector{Rank{2}});
}

// Each has found another node silent, and that one may be at fault.
TEST_CASE("where all nodes but one failed alike, that one is named") {
    Failures failures;
    for (std::uint16_t rank = 1; rank < 8; ++rank) {
        if (rank != 5) {
            failures.add(of(rank, "silence"));
        }
    }
    CHECK_THAT(failures.sentence(kNames), Catch::Contains("and 5 more nodes: n2: the same;"));
    failures.add(of(0, "silence"));
    CHECK(failures.sentence(kNames) == "node n0: silence (the same on every node but n5)");
    Failures different;
    different.add(of(1, "silence"));
    different.add(of(2, "no space"));
    CHECK(different.sentence({"n0", "n1", "n2"}) ==
          "node n1: silence (and 1 more node: n2: no space)");
}
