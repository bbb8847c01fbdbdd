#include "stager/daemon/stage/time_limits.h"

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

TEST_CASE("no wish lets the verdict come after the site's time") {
    for (int wanted = 0; wanted <= 40; ++wanted) {
        const TimeLimits limits = time_limits(seconds{wanted}, seconds{30});
        CAPTURE(wanted);
        CHECK(limits.work < limits.verdict);
        CHECK(limits.verdict < seconds{30});
    }
}
