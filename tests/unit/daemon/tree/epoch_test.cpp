// Which collectives belong to an epoch, and which epoch is the later one?
#include "stager/daemon/tree/epoch.h"

#include <catch2/catch.hpp>

namespace stage {

TEST_CASE("listening counts the epochs, cards count the ports, and PMIx has the first") {
    const Epoch first{.draws = 0, .port = 5000, .cards_follow = false};
    const Epoch direct = first.without_pmix();
    const Epoch moved = direct.at_port(5001);
    CHECK(first.sequence_of(Collective::listening, 9) == 0);
    CHECK(direct.sequence_of(Collective::listening, 9) == 1);
    CHECK(moved.sequence_of(Collective::listening, 9) == 3);
    CHECK(moved.sequence_of(Collective::cards, 9) == 1);
    CHECK(moved.sequence_of(Collective::fence, 9) == 9);

    CHECK(first.has(Collective::fence, 9));
    CHECK_FALSE(direct.has(Collective::fence, 9));
    CHECK_FALSE(direct.has(Collective::group, 0));
    CHECK(direct.has(Collective::cards, 0));
    CHECK_FALSE(moved.has(Collective::cards, 0));
    CHECK_FALSE(moved.has(Collective::listening, 1));
    CHECK(moved.has(Collective::outcome, 0));
}

TEST_CASE("an epoch is later if the port was drawn again, or PMIx given up") {
    const Epoch first{.draws = 0, .port = 5000, .cards_follow = false};
    CHECK(first.without_pmix().is_after(first));
    CHECK(first.at_port(5001).is_after(first.without_pmix()));
    CHECK_FALSE(first.is_after(first));
    CHECK_FALSE(first.is_after(first.without_pmix()));
    CHECK_FALSE(first.without_pmix().is_after(first.without_pmix()));
    CHECK_FALSE(Epoch{0, 5001, true}.is_after(first));
}

}  // namespace stage
