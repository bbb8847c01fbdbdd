// Tests that each user gets a place in turn, however many the others ask for.
#include "stager/daemon/planning/stage_places.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace stage;

namespace {

constexpr std::uint32_t kFirstUser = 2001;
constexpr std::uint32_t kSecondUser = 2002;

/// Who got a place, in order.
class World {
  public:
    explicit World(std::size_t limit) { places.set_limits({.stages = limit}); }
    StagePlaces::Ticket wait(std::uint32_t uid, const std::string& name) {
        const auto ticket = places.wait(uid, [this, name] { served.push_back(name); });
        REQUIRE(ticket);
        return *ticket;
    }

    StagePlaces places;
    std::vector<std::string> served;
};

}  // namespace

TEST_CASE("one user's stages wait while another one's still find a place") {
    World world{16};
    std::vector<StagePlaces::Ticket> alices;
    for (int i = 0; i < 64; ++i) {
        alices.push_back(world.wait(kFirstUser, "alice"));
    }
    CHECK(world.served.size() == 8);
    CHECK(world.places.waiting() == 56);
    world.wait(kSecondUser, "bob");
    CHECK(world.served.back() == "bob");
}

TEST_CASE("all that wait have their turn, in the order in which they came") {
    World world{4};
    std::vector<StagePlaces::Ticket> tickets;
    for (int i = 0; i < 64; ++i) {
        tickets.push_back(world.wait(kFirstUser, std::to_string(i)));
    }
    for (const StagePlaces::Ticket ticket : tickets) {
        CHECK(world.places.taken() <= 4);
        world.places.leave(ticket);
    }
    REQUIRE(world.served.size() == 64);
    for (int i = 0; i < 64; ++i) {
        CHECK(world.served[static_cast<std::size_t>(i)] == std::to_string(i));
    }
    CHECK(world.places.taken() == 0);
    CHECK(world.places.waiting() == 0);
}

TEST_CASE("a stage that leaves while waiting is not served") {
    World world{1};
    const auto first = world.wait(kFirstUser, "first");
    const auto second = world.wait(kFirstUser, "second");
    world.wait(kFirstUser, "third");
    world.places.leave(second);
    world.places.leave(second);
    world.places.leave(first);
    CHECK(world.served == std::vector<std::string>{"first", "third"});
}

TEST_CASE("members take no place of those that begin here, and one user not all of theirs") {
    World world{2};
    std::size_t members = 0;
    while (world.places.take_as_member(kFirstUser)) {
        ++members;
    }
    CHECK(members == StagePlaces::kMemberFactor);
    CHECK(world.places.take_as_member(kSecondUser));
    world.wait(kFirstUser, "alice");
    world.wait(kSecondUser, "bob");
    CHECK(world.served == std::vector<std::string>{"alice", "bob"});
}

TEST_CASE("the queue is bounded, and is not one user's") {
    World world{1};
    std::size_t waiting = 0;
    while (world.places.wait(kFirstUser, [] {})) {
        ++waiting;
    }
    CHECK(waiting == StagePlaces::kMaxWaiting / 2 + 1);  // One has the place.
    CHECK(world.places.wait(kSecondUser, [] {}));
}

TEST_CASE(
    "a limit that is raised counts from the next call on, one that is lowered takes nothing") {
    World world{2};
    const auto first = world.wait(kFirstUser, "first");
    world.wait(kFirstUser, "second");
    world.places.set_limits({.stages = 8});
    const auto third = world.wait(kFirstUser, "third");
    CHECK(world.served == std::vector<std::string>{"first", "second", "third"});
    world.places.set_limits({.stages = 1});
    world.wait(kSecondUser, "bob");
    world.places.leave(first);
    CHECK(world.served.size() == 3);
    world.places.leave(third);
    CHECK(world.served.size() == 3);
}

namespace {

/// Takes members' places until there is none; how many, and how many of these have a port that
/// is held.
std::pair<std::size_t, std::size_t> take_all(StagePlaces& places, std::uint32_t uid) {
    std::pair<std::size_t, std::size_t> taken;
    while (const auto ticket = places.take_as_member(uid)) {
        ++taken.first;
        taken.second += places.has_held_port(*ticket) ? 1U : 0U;
    }
    return taken;
}

}  // namespace

TEST_CASE("one user's stages, of whatever kind, leave ports that are held for other users") {
    World world{16};
    world.places.set_limits({.stages = 16, .held_ports = 32, .open_ports = 32});
    CHECK(take_all(world.places, kFirstUser) == std::pair<std::size_t, std::size_t>{32, 16});
    // The ports that are open to all may be in use by whatever program.
    const auto bobs = world.places.take_as_member(kSecondUser);
    REQUIRE(bobs);
    CHECK(world.places.has_held_port(*bobs));
    world.wait(kFirstUser, "alice");
    CHECK(world.served.empty());
    world.wait(kSecondUser, "bob");
    CHECK(world.served == std::vector<std::string>{"bob"});
}

TEST_CASE("a stage that begins here waits for a port as for a place") {
    World world{16};
    world.places.set_limits({.stages = 16, .held_ports = 2});
    const auto first = world.wait(kFirstUser, "first");
    world.wait(kFirstUser, "second");
    CHECK(world.served == std::vector<std::string>{"first"});
    CHECK(world.places.taken() == 1);
    CHECK(world.places.take_as_member(kSecondUser));
    world.places.leave(first);
    CHECK(world.served == std::vector<std::string>{"first", "second"});
}

TEST_CASE("a node with one port stages with that one") {
    World world{16};
    world.places.set_limits({.stages = 16, .held_ports = 1});
    CHECK(take_all(world.places, kFirstUser) == std::pair<std::size_t, std::size_t>{1, 1});
}
