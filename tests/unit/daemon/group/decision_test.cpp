// When is there a verdict, which one, and what do the other nodes get to know?
#include "stager/daemon/group/decision.h"

#include "stager/daemon/tree/outcome.h"
#include "tests/unit/daemon/group/parts_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

using namespace std::chrono_literals;

constexpr Instant kDeadline = kBegin + 100s;

struct DecisionWorld : NeighboursWorld {
    using NeighboursWorld::NeighboursWorld;

    void have_outcomes() {
        std::vector<Contribution> all;
        for (Rank::rep rank = 0; rank < 7; ++rank) {
            all.push_back({Rank{rank}, encode(NodeOutcome{})});
        }
        decision.on_step(kBegin, {.is_allowed = true, .failure = {}, .outcomes = all});
    }
    void all_listen() { collectives.on_result({Collective::listening, 0, {}}); }

    Collectives collectives{seat, links};
    Decision decision{seat, GroupTimes{}, links, collectives, kDeadline};
};

Failure failure_of(Rank::rep rank, const std::string& why) {
    return {Rank{rank}, Blame::user, why};
}

}  // namespace

TEST_CASE("when all nodes are done the root's verdict is that, and those below get it") {
    DecisionWorld world{Rank{0}};
    world.have_outcomes();
    REQUIRE(world.decision.verdict());
    CHECK(world.decision.verdict()->state == VerdictState::ok);
    CHECK(world.taken<group::Send>().size() == 2);
    CHECK_FALSE(world.decision.is_finished());
    world.links.on_settled(Rank{1});
    world.links.on_settled(Rank{2});
    world.decision.finish_if_settled();
    CHECK(world.decision.is_finished());
}

TEST_CASE("the root decides on a failure a moment later, and names the others") {
    DecisionWorld world{Rank{0}};
    world.decision.note(kBegin, failure_of(4, "disk full"));
    world.have_outcomes();
    CHECK_FALSE(world.decision.verdict());
    world.decision.note(kBegin, failure_of(3, "no permission"));
    CHECK(world.decision.deadline() == kBegin + GroupTimes{}.grace);
    SECTION("at its time") {
        world.decision.on_time(kBegin + GroupTimes{}.grace);
    }
    SECTION("at once, if it must") {
        world.decision.decide_now(kBegin);
    }
    REQUIRE(world.decision.verdict());
    CHECK(world.decision.verdict()->sentence ==
          "node n3: no permission (and 1 more node: n4: disk full)");
    CHECK(world.decision.verdict()->culprit == Rank{3});
}

TEST_CASE("a node below reports each failure once, to another parent again") {
    DecisionWorld world{Rank{1}};
    world.decision.note(kBegin, failure_of(4, "disk full"));
    world.decision.note(kBegin, failure_of(4, "disk full"));
    CHECK(world.taken<group::Send>().size() == 1);
    CHECK_FALSE(world.decision.verdict());
    world.decision.inform_parent_of_failures();
    const auto sent = world.taken<group::Send>();
    REQUIRE(sent.size() == 1);
    CHECK(std::get<FailedMessage>(sent[0].message).failures.size() == 1);
}

TEST_CASE("a node that gets no verdict decides for itself, later than the root") {
    DecisionWorld world{Rank{1}};
    world.decision.on_time(kDeadline);
    CHECK_FALSE(world.decision.verdict());
    world.decision.on_time(kDeadline + GroupTimes{}.margin);
    REQUIRE(world.decision.verdict());
    CHECK(world.decision.verdict()->sentence ==
          "node n1: the stage was not done within StageTimeout");
    world.decision.cut_off(kDeadline + 60s);
    CHECK(world.decision.is_finished());
    CHECK(world.taken<group::Hangup>().size() == 2);
}

TEST_CASE("where nodes are dropped, a failure ends the stage only before all listen") {
    DecisionWorld world{Rank{0}, true};
    const bool listen = GENERATE(false, true);
    if (listen) {
        world.all_listen();
    }
    world.decision.note(kBegin, failure_of(3, "disk full"));
    world.decision.on_time(kBegin + 2s);
    CHECK(world.decision.verdict().has_value() == !listen);
    if (listen) {
        world.have_outcomes();
        REQUIRE(world.decision.verdict());
        CHECK(world.decision.verdict()->state == VerdictState::partial);
        CHECK(world.decision.verdict()->dropped == std::vector{Rank{3}});
    }
}

TEST_CASE("a node that failed says so by its outcome once all listen") {
    DecisionWorld world{Rank{3}, true};
    world.decision.fail(kBegin, failure_of(3, "disk full"));
    CHECK(std::holds_alternative<FailedMessage>(world.taken<group::Send>().at(0).message));
    world.all_listen();
    world.decision.report_own_failure(kBegin);
    const auto sent = world.taken<group::Send>();
    REQUIRE(sent.size() == 1);
    const auto& outcome = std::get<GatheredMessage>(sent[0].message);
    CHECK(decode_node_outcome(outcome.contributions.at(0).bytes)->sentence == "disk full");
}

TEST_CASE("a dropped node learns it once, and those that connect later do, too") {
    DecisionWorld world{Rank{1}, true};
    const DropMessage own{failure_of(1, "silent")};
    world.decision.on_drop(kBegin, own);
    world.decision.on_drop(kBegin, own);
    const auto commands = world.links.take_commands();
    REQUIRE(commands.size() == 3);  // To both children, and here.
    CHECK(std::holds_alternative<group::Drop>(commands[2]));
    world.decision.inform(Rank{3});
    CHECK(world.taken<group::Send>().size() == 1);
}

TEST_CASE("a node that the others left behind ends alone") {
    DecisionWorld world{Rank{1}, true};
    world.decision.leave("did not run");
    CHECK(world.decision.is_finished());
    CHECK(world.decision.verdict()->culprit == Rank{1});
    const auto commands = world.links.take_commands();
    REQUIRE(commands.size() == 3);
    CHECK(std::holds_alternative<group::Hangup>(commands[0]));
    CHECK(std::holds_alternative<group::Settle>(commands[2]));
}

}  // namespace stage
