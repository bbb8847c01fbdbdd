// Tests that a node answers for its stages, whether the plugin or another daemon comes first.
#include "stager/daemon/stage/registry.h"

#include "tests/unit/daemon/stage/registry_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr const char* kRestarted = "stagecastd was restarted while it staged";

}  // namespace

TEST_CASE("a plugin that comes after the SETUP and its verdict is answered at once", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({GroupVerdict{VerdictState::failed, Blame::user, "node n0: why"}});
    world.next<SettledMessage>();
    const auto verdict = world.ask(RegistryWorld::announcement());
    REQUIRE(verdict);
    CHECK(verdict->sentence == "node n0: why");
}

TEST_CASE("a SETUP for a stage that a restart broke off is answered by that, at once",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.store(VerdictState::failed, std::string{"node n1: "} + kRestarted);
    world.set_up();
    CHECK(world.next<FailedMessage>().failures ==
          std::vector<Failure>{{Rank{1}, Blame::node, kRestarted}});
    const auto stored = world.ask(QueryRequest{kKey});
    REQUIRE(stored);
    CHECK_THAT(stored->sentence, Catch::Contains(kRestarted));
}

TEST_CASE("the failed node is known by its rank, whatever the message says", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    Failure expected{Rank{1}, Blame::node, "node n0: is what a user's file is called"};
    std::optional<Rank> culprit;
    std::string stored = expected.sentence;
    SECTION("this node, nameless") {
    }
    SECTION("this node") {
        culprit = Rank{1};
        stored = "node n1: " + expected.sentence;
    }
    SECTION("another one") {
        culprit = expected.rank = Rank{0};
        stored = "node n0: " + expected.sentence;
    }
    SECTION("no member of this stage") {
        culprit = Rank{7};
    }
    world.store(VerdictState::failed, stored, culprit);
    world.set_up();
    CHECK(world.next<FailedMessage>().failures == std::vector<Failure>{expected});
}

TEST_CASE("a plan that this daemon can't read fails the stage on all nodes, with the reason",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({std::byte{1}, std::byte{2}}, {});
    const auto failures = world.next<FailedMessage>().failures;
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].rank == Rank{1});
    CHECK(failures[0].blame == Blame::node);
    CHECK_THAT(failures[0].sentence,
               Catch::Contains("of node n0") && Catch::Contains("different releases") &&
                   Catch::Contains("install the same release"));
    CHECK(world.registry.find(kKey) == nullptr);
}

TEST_CASE("a SETUP for a stage that had its verdict is no stage", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    const auto state = GENERATE(VerdictState::ok, VerdictState::partial);
    world.store(state, "");
    world.set_up();
    world.world.run_until([&] { return world.is_cut(); });
    CHECK(world.registry.find(kKey) == nullptr);
    CHECK(world.ask(RegistryWorld::announcement())->state == state);
}

TEST_CASE("a SETUP of a push whose source has not asked this node is refused, by the reason",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.world.config.push_roots = {"/images"};
    std::string why = "the source of this push, node n0, has not asked this node before";
    SECTION("the destination is allowed") {
        world.push("1;wd,/a,/images/a");
    }
    SECTION("it is not") {
        world.push("1;wd,/a,/etc/a");
        why = "/etc/a: lies below none of this node's PushRoots";
    }
    const auto failures = world.next<FailedMessage>().failures;
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].rank == Rank{1});
    CHECK_THAT(failures[0].sentence, Catch::Contains(why));
    CHECK(world.registry.find(kPush) == nullptr);
}

TEST_CASE("a stage that is only held is let go when its job ends", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up();
    world.world.run_until([&] { return world.registry.find(kKey) != nullptr; });
    CHECK(world.registry.find(kKey)->is_held());
    world.ask(EndRequest{.job_id = kKey.job_id, .step_id = kWholeJob});
    CHECK_THAT(world.next<FailedMessage>().failures.at(0).sentence,
               Catch::Contains("the job ended while its files were staged"));
    world.say(GroupVerdict{VerdictState::failed, Blame::user, "node n1: the job ended"});
    world.next<SettledMessage>();
    world.hang_up();
    world.world.run_until([&] { return world.registry.find(kKey) == nullptr; });
}

TEST_CASE(
    "a stage that waits for the files of the job's earlier run to be removed is announced",
    "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    const EndRequest end{.job_id = kKey.job_id, .step_id = kWholeJob};
    world.registry.on_request(end, [](const auto&) {});
    CHECK(world.registry.tell(kKey).word == TellWord::unannounced);
    world.registry.on_request(RegistryWorld::announcement(), [](const auto&) {});
    CHECK(world.registry.find(kKey) == nullptr);
    CHECK(world.registry.tell(kKey).word == TellWord::queued);
}

TEST_CASE("only the verdict is left of a settled stage that no plugin announces", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({GroupVerdict{VerdictState::failed, Blame::user, "node n0: why"}});
    world.next<SettledMessage>();
    world.hang_up();
    world.world.run_until([&] { return world.registry.find(kKey) == nullptr; });
    CHECK(world.ask(QueryRequest{kKey})->sentence == "node n0: why");
    SECTION("a plugin that comes late is answered, and the verdict is stored") {
        CHECK(world.ask(RegistryWorld::announcement())->sentence == "node n0: why");
        CHECK(world.world.services->verdicts.load(kKey)->sentence == "node n0: why");
    }
    SECTION("another SETUP is answered by it") {
        world.set_up();
        CHECK(world.next<FailedMessage>().failures.at(0).sentence == "why");
    }
    SECTION("the job's end takes it") {
        world.ask(EndRequest{.job_id = kKey.job_id, .step_id = kWholeJob});
        CHECK(world.ask(QueryRequest{kKey})->sentence.empty());
    }
}

TEST_CASE("jobs of one first node do not hold all that a node holds unannounced", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    std::uint32_t job = 100;
    const auto may_hold = [&](const std::string& first_node) {
        world.set_up_as(first_node, ++job);
        const StageKey key{.job_id = job, .step_id = kWholeJob, .restart = 0};
        world.world.run_until(
            [&] { return world.registry.find(key) != nullptr || world.has_failed(); });
        return world.registry.find(key) != nullptr;
    };
    std::size_t held = 0;
    while (held < kMaxHeld && may_hold("n0")) {
        ++held;
    }
    CHECK(held == kMaxHeld / 2);
    CHECK(may_hold("n7"));
}

}  // namespace stage
