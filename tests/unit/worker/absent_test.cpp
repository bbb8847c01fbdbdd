#include "stager/worker/requests/absent.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("the error for a missing file says where it must be") {
    const Error absent = Error::from_errno(Blame::user, "/x", ENOENT);
    const Error denied = Error::from_errno(Blame::user, "/x", EACCES);
    const StageKey job{.job_id = 42};
    const StageKey push{.job_id = kPushJob};
    CHECK_THAT(about_source(absent, job).sentence(),
               Catch::StartsWith("/x: No such file or directory; the job's first node"));
    CHECK_THAT(about_source(absent, {.job_id = 42, .step_id = 3}).sentence(),
               Catch::StartsWith("/x: No such file or directory; the step's first node"));
    CHECK(about_source(absent, push).sentence() == absent.sentence());
    CHECK(about_source(denied, job).sentence() == denied.sentence());
    CHECK_THAT(about_copy(absent).sentence(), Catch::Contains("; this node has no copy"));
    CHECK(about_copy(denied).sentence() == denied.sentence());
}
