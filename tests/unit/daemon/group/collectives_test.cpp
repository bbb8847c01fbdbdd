// Do contributions go up as one list, results down, and those of another epoch nowhere?
#include "stager/daemon/group/collectives.h"

#include "tests/unit/daemon/group/parts_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

struct CollectivesWorld : NeighboursWorld {
    using NeighboursWorld::NeighboursWorld;

    Collectives::Step hear(unsigned from, Collective kind, std::uint32_t sequence = 0) {
        const Rank rank{static_cast<Rank::rep>(from)};
        GatheredMessage part{kind, sequence, {{rank, {std::byte{7}}}}};
        return collectives.on_gathered(rank, std::move(part));
    }
    Collectives::Step say(Collective kind, std::uint32_t sequence = 0) {
        return collectives.contribute(kind, sequence, {std::byte{7}});
    }

    Collectives collectives{seat, links};
};

}  // namespace

TEST_CASE("what this node and its children contribute goes up when it is complete") {
    CollectivesWorld world{Rank{1}};
    CHECK(world.say(Collective::fence).is_allowed);
    CHECK(world.hear(4, Collective::fence).is_allowed);
    CHECK(world.collectives.awaited() == std::vector{Rank{3}});
    CHECK(world.taken<group::Send>().empty());
    CHECK(world.hear(3, Collective::fence).is_allowed);
    const auto sent = world.taken<group::Send>();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].to == Rank{0});
    const auto& gathered = std::get<GatheredMessage>(sent[0].message);
    REQUIRE(gathered.contributions.size() == 3);
    CHECK(gathered.contributions[0].rank == Rank{1});  // In rank order.
    CHECK_FALSE(world.hear(3, Collective::fence).is_allowed);
    CHECK_FALSE(world.collectives.on_gathered(Rank{3}, {Collective::group, 0, {{Rank{5}, {}}}})
                    .is_allowed);
}

TEST_CASE("the root makes the result, sends it down and gets it itself") {
    CollectivesWorld world{Rank{0}};
    CHECK(world.say(Collective::group, 3).is_allowed);
    CHECK(world.hear(1, Collective::group, 3).is_allowed);
    CHECK(world.hear(2, Collective::group, 3).is_allowed);
    const auto commands = world.links.take_commands();
    REQUIRE(commands.size() == 3);
    CHECK(std::get<group::Send>(commands[1]).to == Rank{2});
    const auto& delivered = std::get<group::Deliver>(commands[2]);
    CHECK(delivered.bytes == ByteWriter{}.u64(1003).take());
}

TEST_CASE("the outcomes of all nodes are no result, but are decided on") {
    CollectivesWorld world{Rank{0}};
    CHECK_FALSE(world.say(Collective::outcome).outcomes);
    CHECK_FALSE(world.hear(1, Collective::outcome).outcomes);
    const auto step = world.hear(2, Collective::outcome);
    REQUIRE(step.outcomes);
    CHECK(step.outcomes->size() == 3);
    CHECK(world.links.take_commands().empty());
}

TEST_CASE("in another epoch earlier contributions are void, and those below hear of it") {
    CollectivesWorld world{Rank{1}};
    CHECK(world.say(Collective::fence).is_allowed);
    CHECK(world.hear(3, Collective::listening).is_allowed);
    world.collectives.begin_epoch(world.collectives.epoch().without_pmix());
    CHECK(world.collectives.awaited().empty());
    const auto commands = world.links.take_commands();
    REQUIRE(commands.size() == 3);
    CHECK(std::get<group::Send>(commands[0]).message == TreeMessage{DirectMessage{}});
    CHECK(std::get<group::BeginEpoch>(commands[2]).epoch.cards_follow);

    CHECK(world.hear(3, Collective::fence, 1).is_allowed);
    CHECK(world.hear(4, Collective::listening, 0).is_allowed);
    CHECK(world.collectives.awaited().empty());
    world.collectives.on_result({Collective::listening, 0, {}});
    CHECK_FALSE(world.collectives.all_listen());
    world.collectives.on_result({Collective::listening, 1, {}});
    CHECK(world.collectives.all_listen());
    CHECK(world.taken<group::Deliver>().size() == 1);
    world.collectives.inform(Rank{3});
    CHECK(world.taken<group::Send>().size() == 2);
}

TEST_CASE("the root draws another port, a node below asks for it, but not for ever") {
    const PortsMessage asked{.move = 0, .port = 0, .rank = Rank{3}, .taken = {5000}};
    SECTION("at the root") {
        CollectivesWorld world{Rank{0}};
        CHECK_FALSE(world.collectives.request_port(asked, "taken"));
        const auto drawn = world.taken<group::DrawPort>();
        REQUIRE(drawn.size() == 1);
        CHECK(drawn[0].taken.contains(5000));
        world.collectives.begin_epoch(world.collectives.epoch().at_port(5001));
        CHECK_FALSE(world.collectives.request_port(asked, "taken"));
        CHECK(world.taken<group::DrawPort>().empty());  // It is drawn already.
    }
    SECTION("below") {
        CollectivesWorld world{Rank{1}};
        CHECK_FALSE(world.collectives.request_port(asked, "taken"));
        CHECK(world.taken<group::Send>().size() == 1);
        world.collectives.begin_epoch(
            {.draws = kPortDrawsMax, .port = 5004, .cards_follow = true});
        PortsMessage again = asked;
        again.move = kPortDrawsMax;
        CHECK(world.collectives.request_port(again, "taken")->rank == Rank{3});
    }
    SECTION("where a node has done its part") {
        CollectivesWorld world{Rank{1}};
        CHECK(world.hear(3, Collective::outcome).is_allowed);
        CHECK(world.collectives.request_port(asked, "taken")->rank == Rank{3});
        CHECK(world.collectives.request_direct("PMIx is lost")->rank == Rank{1});
    }
}

TEST_CASE("where nodes are dropped, those below a lost one are awaited instead") {
    CollectivesWorld world{Rank{0}, true};
    CHECK(world.say(Collective::outcome).is_allowed);
    CHECK(world.hear(2, Collective::outcome).is_allowed);
    CHECK_FALSE(world.collectives.await_instead(Rank{1}, {Rank{3}, Rank{4}}).outcomes);
    CHECK_FALSE(world.hear(3, Collective::outcome).outcomes);
    CHECK(world.hear(4, Collective::outcome).outcomes);
}

}  // namespace stage
