#include "stager/daemon/jobs/verdict_store.h"

#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <fstream>

using namespace stage;

namespace {
constexpr StageKey kKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};

Verdict some_verdict() {
    return {.state = VerdictState::failed,
            .blame = Blame::user,
            .sentence = "node n1: /x: No space left on device",
            .stage_dir = "/var/spool/stagecast/42",
            .paths = {"/var/spool/stagecast/42/x", "/tmp/y"}};
}
}  // namespace

TEST_CASE("a verdict is there again after the daemon's death") {
    const Scratch scratch;
    {
        auto store = VerdictStore::open(scratch.path() + "/jobs");
        REQUIRE(store);
        CHECK_FALSE(store->load(kKey));
        REQUIRE(store->save(kKey, Verdict{}));
        REQUIRE(store->save(kKey, some_verdict()));
    }
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    CHECK(store->load(kKey) == some_verdict());
    CHECK_FALSE(store->load({42, kWholeJob, 0}));
    CHECK(store->all() == std::vector<StageKey>{kKey});
}

TEST_CASE("the node to blame is restored, too") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    REQUIRE(store->save(kKey, some_verdict()));
    CHECK_FALSE(store->culprit_of(kKey));
    REQUIRE(store->save(kKey, some_verdict(), Rank{3}));
    CHECK(store->culprit_of(kKey) == Rank{3});
    CHECK(store->load(kKey) == some_verdict());
}

TEST_CASE("a verdict is forgotten") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    REQUIRE(store->save(kKey, some_verdict()));
    CHECK(store->all().size() == 1);
    store->forget(kKey);
    CHECK_FALSE(store->load(kKey));
    CHECK(store->all().empty());
}

TEST_CASE("a malformed file is no verdict, and another user's directory is refused") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    std::ofstream{scratch.path() + "/jobs/42.4294967295.1"} << "garbage";
    std::ofstream{scratch.path() + "/jobs/42.1.2.3"} << "x";
    std::ofstream{scratch.path() + "/jobs/README"} << "x";
    CHECK_FALSE(store->load(kKey));
    CHECK(store->all() == std::vector<StageKey>{kKey});

    scratch.directory("open", 0777);
    CHECK_FALSE(VerdictStore::open(scratch.path() + "/open"));
    scratch.link("jobs", "link");
    CHECK_FALSE(VerdictStore::open(scratch.path() + "/link"));
}
