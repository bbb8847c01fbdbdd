#include "stager/daemon/planning/time_limits.h"

#include <catch2/catch.hpp>

using namespace stage;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::string words(Duration wanted, Duration most) {
    return time_limit_words(wanted, most, "StageTimeout=S");
}

}  // namespace

TEST_CASE("a job has all of the time that it wants, where the site allows more") {
    CHECK(time_limits(seconds{4}, seconds{600}) ==
          TimeLimits{.work = seconds{4}, .verdict = milliseconds{4500}});
    CHECK(time_limits(seconds{60}, seconds{600}) ==
          TimeLimits{.work = seconds{60}, .verdict = seconds{62}});
    CHECK(words(seconds{4}, seconds{600}) == "--stage-timeout=4 s");
    CHECK(is_wanted_limit(seconds{4}, seconds{600}));
    CHECK_FALSE(is_wanted_limit(seconds{0}, seconds{600}));
    CHECK_FALSE(is_wanted_limit(seconds{599}, seconds{600}));
}

TEST_CASE(
    "a part of the site's limit is for the nodes to agree, and the message says how much") {
    const TimeLimits sites{.work = seconds{596}, .verdict = seconds{598}};
    CHECK(time_limits(seconds{0}, seconds{600}) == sites);
    CHECK(time_limits(seconds{600}, seconds{600}) == sites);
    CHECK(time_limits(seconds{599}, seconds{600}) == sites);
    CHECK(time_limits(seconds{0}, seconds{4}) ==
          TimeLimits{.work = seconds{3}, .verdict = milliseconds{3500}});
    CHECK(words(seconds{0}, seconds{600}) == "StageTimeout=S, less 4 s for the nodes to agree");
    CHECK(words(seconds{599}, seconds{600}) ==
          "StageTimeout=S, less 4 s for the nodes to agree");
}

TEST_CASE("no requested time lets the verdict come after the site's time") {
    for (int wanted = 0; wanted <= 40; ++wanted) {
        const TimeLimits limits = time_limits(seconds{wanted}, seconds{30});
        CAPTURE(wanted);
        CHECK(limits.work < limits.verdict);
        CHECK(limits.verdict < seconds{30});
    }
}

TEST_CASE("a stage has the least of what job, site and srun allow, and the words name it") {
    Config config = default_config();
    config.stage_timeout = seconds{900};
    StageKey key{.job_id = 42, .step_id = kWholeJob, .restart = 0};
    StageOptions options;
    SECTION("a job without a requested time has the site's") {
        options.has_container = true;
        const StageLimits limits = stage_limits(config, key, options);
        CHECK(limits.time == seconds{900});
        CHECK(limits.ends == time_limits(seconds{0}, seconds{900}));
        CHECK(limits.blame == Blame::node);
        CHECK(limits.words == "StageTimeout=900 s, less 4 s for the nodes to agree");
    }
    SECTION("a shorter requested time is the user's own") {
        options.timeout_s = 5;
        const StageLimits limits = stage_limits(config, key, options);
        CHECK(limits.time == seconds{5});
        CHECK(limits.ends.work == seconds{5});
        CHECK(limits.blame == Blame::user);
        CHECK(limits.words == "--stage-timeout=5 s");
    }
    SECTION("a longer requested time is not") {
        options.timeout_s = 1000;
        CHECK(stage_limits(config, key, options).time == seconds{900});
        CHECK(stage_limits(config, key, options).blame == Blame::node);
    }
    SECTION("a step with a container has what srun leaves it") {
        key.step_id = 3;
        CHECK(stage_limits(config, key, options).time == seconds{900});
        options.has_container = true;
        const StageLimits limits = stage_limits(config, key, options);
        CHECK(limits.time == seconds{570});
        CHECK(limits.words ==
              "the 570 s that srun leaves a step with a container to begin, less 4 s for the "
              "nodes to agree");
    }
    SECTION("a push has its own, which is never the user's fault") {
        key.job_id = kPushJob;
        options.timeout_s = 60;
        const StageLimits limits = stage_limits(config, key, options);
        CHECK(limits.ends == TimeLimits{.work = seconds{60}, .verdict = seconds{62}});
        CHECK(limits.blame == Blame::node);
        CHECK(limits.words == "--timeout=60 s");
        options.timeout_s = 0;
        CHECK(stage_limits(config, key, options).time == seconds{kMaxStageTimeoutS});
    }
}

TEST_CASE("a node waits longer for its SETUP the deeper in the control tree it is") {
    Config config = default_config();
    config.tree_width = 2;
    config.announce_timeout = seconds{10};
    config.connect_timeout = seconds{3};
    CHECK(setup_max(config, 0, 8) == seconds{10});
    CHECK(setup_max(config, 1, 8) == seconds{13} + milliseconds{1});
    CHECK(setup_max(config, 7, 8) == seconds{19} + milliseconds{7});
}
