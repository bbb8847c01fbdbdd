// Has a stage its place from its turn until it gives it back, and never after that?
#include "stager/daemon/planning/place_ticket.h"

#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr std::uint32_t kAlice = 2001;
constexpr std::uint32_t kBob = 2002;

}  // namespace

TEST_CASE("a ticket waits until another one is given back") {
    ServicesWorld world;
    world.config.max_stages_per_node = 1;
    const StagePlaces& places = world.services->places;
    std::optional<PlaceTicket> first;
    first.emplace(world.loop(), world.config, world.services->ports, world.services->places);
    PlaceTicket second{
        world.loop(), world.config, world.services->ports, world.services->places};
    int turns = 0;
    REQUIRE(first->wait(kAlice, [&] { ++turns; }));
    REQUIRE(second.wait(kBob, [&] { ++turns; }));
    CHECK(first->is_waiting());  // Its turn comes from the loop.
    world.run_until([&] { return turns == 1; });
    CHECK_FALSE(first->is_waiting());
    CHECK(second.is_waiting());
    first.reset();
    world.run_until([&] { return turns == 2; });
    CHECK_FALSE(second.is_waiting());
    CHECK(places.taken() == 1);
    second.give_back();
    CHECK(places.taken() == 0);
}

TEST_CASE("a ticket that is given back before its turn is not called") {
    ServicesWorld world;
    world.config.max_stages_per_node = 1;
    PlaceTicket ticket{
        world.loop(), world.config, world.services->ports, world.services->places};
    bool has_turn = false;
    REQUIRE(ticket.wait(kAlice, [&] { has_turn = true; }));
    ticket.give_back();
    bool is_over = false;
    world.loop().after(std::chrono::milliseconds{20}, [&] { is_over = true; });
    world.run_until([&] { return is_over; });
    CHECK_FALSE(has_turn);
    CHECK_FALSE(ticket.is_waiting());
    CHECK(world.services->places.taken() == 0);
}

TEST_CASE("a member's place is there at once or not at all, and the message counts") {
    ServicesWorld world;
    world.config.max_stages_per_node = 1;
    std::vector<std::unique_ptr<PlaceTicket>> tickets;
    bool is_taken = true;
    for (std::uint32_t uid = 1; is_taken; ++uid) {
        tickets.push_back(std::make_unique<PlaceTicket>(
            world.loop(), world.config, world.services->ports, world.services->places));
        is_taken = tickets.back()->take_as_member(uid);
        CHECK_FALSE(tickets.back()->is_waiting());
    }
    CHECK(tickets.size() == StagePlaces::kMemberFactor + 1);
    CHECK(no_place_for_member(world.config, world.services->places) ==
          "it is already staging files for 8 other jobs or steps that began on other nodes (at "
          "most 8 times MaxStagesPerNode=1; of these places, and of the ports of "
          "DataPortRange, one user has half at most); submit it again");
    CHECK(no_place_became_free(world.config, world.services->places, "5 s") ==
          "it is already staging files for 0 other jobs or steps (MaxStagesPerNode=1; of these "
          "places, and of the ports of DataPortRange, one user has half at most), and none "
          "became free within 5 s; submit it again");
}

// The first node's own plan may come from another node while this one still waits for a place.
TEST_CASE("a ticket that waits is no member's place") {
    ServicesWorld world;
    world.config.max_stages_per_node = 1;
    PlaceTicket ticket{
        world.loop(), world.config, world.services->ports, world.services->places};
    REQUIRE(ticket.wait(kAlice, [] {}));
    CHECK_FALSE(ticket.take_as_member(kAlice));
}

}  // namespace stage
