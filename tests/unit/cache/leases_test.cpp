#include "stager/cache/leases.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

LeasedFile file(unsigned number, std::uint32_t uid = 7) {
    return {.uid = uid, .stamp = {static_cast<std::byte>(number)}};
}
using Holders = std::vector<Leases::Holder>;

}  // namespace

TEST_CASE("the first stage reads a file, the others wait for it") {
    Leases leases;
    CHECK(leases.may_read(1, file(1)));
    CHECK(leases.may_read(1, file(1)));
    CHECK_FALSE(leases.may_read(2, file(1)));
    CHECK_FALSE(leases.may_read(3, file(1)));
    CHECK(leases.may_read(4, file(2)));
    CHECK(leases.may_read(5, file(1, 8)));  // Another user's is another file.
    leases.keep(1, file(1));
    CHECK(leases.leave(1).empty());  // Its copy is on its way to the cache.
    CHECK(leases.settle(file(1), true) == Holders{2, 3});
    CHECK(leases.may_read(6, file(1)));
}

TEST_CASE("if the first stage fails, the next one reads") {
    Leases leases;
    CHECK(leases.may_read(1, file(1)));
    CHECK_FALSE(leases.may_read(2, file(1)));
    CHECK_FALSE(leases.may_read(3, file(1)));
    CHECK(leases.leave(2).empty());  // It has waited long enough.
    const auto next = leases.leave(1);
    REQUIRE(next.size() == 1);
    CHECK(next[0].reader == 3);
    CHECK(next[0].file == file(1));
    leases.keep(3, file(1));
    CHECK(leases.settle(file(1), false).empty());
    CHECK(leases.empty());
}

TEST_CASE("a file that can't be cached is read by one stage after the other") {
    Leases leases;
    CHECK(leases.may_read(1, file(1)));
    CHECK_FALSE(leases.may_read(2, file(1)));
    leases.keep(1, file(1));
    CHECK(leases.settle(file(1), false) == Holders{2});
    CHECK(leases.leave(1).empty());
    CHECK(leases.leave(2).empty());
    CHECK(leases.empty());
}

TEST_CASE("no two stages wait for each other") {
    Leases leases;
    CHECK(leases.may_read(1, file(1)));
    CHECK(leases.may_read(2, file(2)));
    CHECK(leases.may_read(1, file(2)));
    CHECK(leases.may_read(2, file(1)));
}

TEST_CASE("a stage that did not ask may bring the file that others wait for") {
    Leases leases;
    leases.keep(9, file(1));
    CHECK_FALSE(leases.may_read(1, file(1)));
    CHECK(leases.leave(9).empty());
    CHECK(leases.settle(file(1), true) == Holders{1});
    CHECK(leases.empty());
}

TEST_CASE("after two readers that could not share a file all waiting stages read it") {
    Leases leases;
    CHECK(leases.may_read(1, file(1)));
    for (const Leases::Holder other : {2U, 3U, 4U, 5U}) {
        CHECK_FALSE(leases.may_read(other, file(1)));
    }
    CHECK(leases.leave(1, {file(1)}).size() == 1);  // It had not been chosen to read.
    leases.keep(2, file(1));
    CHECK(leases.settle(file(1), false) == Holders{3});  // CacheSize has no room, say.
    const auto next = leases.leave(3);
    REQUIRE(next.size() == 2);
    CHECK(next[0].reader == 4);
    CHECK(next[1].reader == 5);
    CHECK(leases.holder_of(file(1)) == 4);
    CHECK(leases.may_read(6, file(1)));
    CHECK(leases.leave(6).empty());
    CHECK(leases.leave(4).empty());
    CHECK(leases.empty());
}

TEST_CASE("the leases of a user, and of all users, are limited") {
    Leases leases;
    const auto take = [&leases](std::uint32_t uid) {
        for (unsigned number = 0; number < kLeasesOfUserMax; ++number) {
            const LeasedFile one{.uid = uid, .stamp = {static_cast<std::byte>(number)}};
            CHECK(leases.may_read(1, one));
            CHECK(leases.holder_of(one) == 1);
        }
    };
    const LeasedFile more{.uid = 7, .stamp = {std::byte{0}, std::byte{1}}};
    take(7);
    CHECK(leases.may_read(1, more));  // Without a lease: no stage waits for it.
    CHECK(leases.holder_of(more) == 0);
    CHECK_FALSE(leases.may_read(2, file(1)));
    for (std::uint32_t uid = 8; uid < 7 + kLeasesMax / kLeasesOfUserMax; ++uid) {
        take(uid);
    }
    CHECK(leases.may_read(3, file(1, 6)));
    CHECK(leases.holder_of(file(1, 6)) == 0);
    CHECK(leases.leave(1).size() == 1);
}
