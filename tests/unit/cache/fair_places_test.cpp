#include "stager/cache/fair_places.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

std::size_t take_all(FairPlaces& places, std::uint32_t uid) {
    std::size_t taken = 0;
    while (places.take(uid)) {
        ++taken;
    }
    return taken;
}

}  // namespace

TEST_CASE("a user has as many places as are left for others") {
    FairPlaces places{4096};
    CHECK(take_all(places, 1) == 2048);
    CHECK(take_all(places, 2) == 1024);
    CHECK(take_all(places, 3) == 512);
    CHECK_FALSE(places.take(1));
    for (int i = 0; i < 1024; ++i) {
        places.leave(2);
    }
    CHECK_FALSE(places.take(1));  // It has as many as are free now, nearly.
    CHECK(take_all(places, 4) == 768);
}

TEST_CASE("a single place goes to the first user") {
    FairPlaces places{1};
    CHECK(places.take(1));
    CHECK_FALSE(places.take(2));
    places.leave(1);
    CHECK(places.take(2));
    FairPlaces none{0};
    CHECK_FALSE(none.take(1));
}
