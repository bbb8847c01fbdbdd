// Does a node store what is true at each moment, and answer each caller once?
#include "stager/daemon/result/stage_result.h"

#include "stager/daemon/jobs/verdict_store.h"
#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

#include <unistd.h>

namespace stage {
namespace {

constexpr StageKey kKey{.job_id = 7, .step_id = kWholeJob, .restart = 0};

Verdict verdict(VerdictState state) {
    return {.state = state,
            .blame = Blame::node,
            .sentence = state == VerdictState::failed ? "node n3: why" : ""};
}

}  // namespace

TEST_CASE("what is stored says that the daemon broke off, until the verdict is known") {
    ServicesWorld world;
    const VerdictStore& store = world.services->verdicts;
    StageResult result{world.services->verdicts, world.services->basics.log, kKey};
    CHECK_FALSE(store.load(kKey));
    result.begin("n1");
    CHECK_THAT(store.load(kKey)->sentence,
               Catch::StartsWith("node n1: stagecastd was restarted"));
    CHECK_FALSE(result.verdict());
    result.set(verdict(VerdictState::failed), Rank{3});
    CHECK(store.load(kKey) == verdict(VerdictState::failed));
    CHECK(store.culprit_of(kKey) == Rank{3});
}

TEST_CASE("a verdict that RunDir does not take is known, and none of a restart") {
    ServicesWorld world;
    const VerdictStore& store = world.services->verdicts;
    StageResult result{world.services->verdicts, world.services->basics.log, kKey};
    SECTION("from its beginning on") {
        REQUIRE(::rmdir(world.scratch.path("verdicts").c_str()) == 0);
        result.begin("n1");
    }
    SECTION("after its beginning") {
        result.begin("n1");
        for (const std::string& name : world.scratch.names()) {
            REQUIRE(::unlink(world.scratch.path(name).c_str()) == 0);
        }
        REQUIRE(::rmdir(world.scratch.path("verdicts").c_str()) == 0);
    }
    result.set(verdict(VerdictState::ok), std::nullopt);
    CHECK(store.load(kKey) == verdict(VerdictState::ok));
}

TEST_CASE("a verdict without an announcement is not stored until that comes") {
    ServicesWorld world;
    const VerdictStore& store = world.services->verdicts;
    StageResult result{world.services->verdicts, world.services->basics.log, kKey};
    result.set(verdict(VerdictState::failed), Rank{3});
    CHECK_FALSE(store.load(kKey));
    CHECK(result.culprit() == Rank{3});
    result.begin("n1");
    CHECK(store.load(kKey) == verdict(VerdictState::failed));
    CHECK(store.culprit_of(kKey) == Rank{3});
}

TEST_CASE("only a failure has a culprit") {
    ServicesWorld world;
    StageResult result{world.services->verdicts, world.services->basics.log, kKey};
    result.set(verdict(VerdictState::ok), Rank{3});
    CHECK_FALSE(result.culprit());
}

TEST_CASE("callers wait until the answer is given, and each is answered once") {
    ServicesWorld world;
    StageResult result{world.services->verdicts, world.services->basics.log, kKey};
    int answers = 0;
    const auto count = [&](const Verdict& given) {
        CHECK(given.state == VerdictState::failed);
        ++answers;
    };
    result.await(count);
    result.set(verdict(VerdictState::failed), std::nullopt);
    result.await(count);
    CHECK(answers == 0);  // slurmctld may have to know first.
    result.answer();
    CHECK(answers == 2);
    result.answer();
    CHECK(answers == 2);
    result.await(count);
    CHECK(answers == 3);
}

}  // namespace stage
