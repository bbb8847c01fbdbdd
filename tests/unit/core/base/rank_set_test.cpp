#include "transport/core/base/rank_set.h"

#include "tests/unit/core/parts.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

TEST_CASE("a set of ranks is a union: telling it twice changes nothing") {
    RankSet set{100};
    const std::vector<wire::RankRun> runs{{.first = rank(3), .last = rank(5)},
                                          {.first = rank(90), .last = rank(65535)}};
    CHECK(set.add(runs) == 13);
    CHECK(set.add(runs) == 0);
    CHECK(set.count() == 13);
    CHECK(set.has(rank(99)));
    CHECK_FALSE(set.has(rank(100)));
    CHECK_FALSE(set.add(rank(100)));
    CHECK(*set.first_absent() == rank(0));
    CHECK(set.runs(10, RankSet{100}) ==
          std::vector<wire::RankRun>{{.first = rank(3), .last = rank(5)},
                                     {.first = rank(90), .last = rank(99)}});
    CHECK(set.runs(1, RankSet{100}).size() == 1);
}

TEST_CASE("a set survives the wire, run by run") {
    const auto seed = GENERATE(range(1U, 30U));
    CAPTURE(seed);
    Prng prng{seed};
    const auto members = static_cast<std::uint32_t>(2 + prng.below(1000));
    RankSet set{members};
    RankSet known{members};
    for (std::uint64_t i = prng.below(members); i-- > 0;) {
        set.add(rank(static_cast<unsigned>(prng.below(members))));
        known.add(rank(static_cast<unsigned>(prng.below(members))));
    }
    RankSet copy = known;
    while (!copy.covers(set)) {
        REQUIRE(copy.add(set.runs(7, copy)) > 0);
    }
    CHECK(set.runs(7, copy).empty());
    RankSet everything{members};
    const wire::RankRun all{.first = rank(0), .last = rank(65535)};
    everything.add({&all, 1});
    CHECK(everything.is_full());
    CHECK_FALSE(everything.first_absent());
}

TEST_CASE(
    "absent ranks are listed in few runs, rather covering some too many than one too few") {
    RankSet set{10};
    for (const unsigned here : {0U, 2U, 5U}) {
        set.add(rank(here));
    }
    using Runs = std::vector<wire::RankRun>;
    const Runs all{{.first = rank(1), .last = rank(1)},
                   {.first = rank(3), .last = rank(4)},
                   {.first = rank(6), .last = rank(9)}};
    CHECK(set.absent(3) == all);
    const Runs two{{.first = rank(1), .last = rank(1)}, {.first = rank(3), .last = rank(9)}};
    CHECK(set.absent(2) == two);
    const wire::RankRun every_rank{.first = rank(0), .last = rank(9)};
    set.add({&every_rank, 1});
    CHECK(set.absent(3).empty());
}
