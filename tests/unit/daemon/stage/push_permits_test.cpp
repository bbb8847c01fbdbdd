#include "stager/daemon/stage/push_permits.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

constexpr StageKey kStage{.job_id = kPushJob, .step_id = 1, .restart = 1};
constexpr StageKey kNext{.job_id = kPushJob, .step_id = 2, .restart = 2};
constexpr Instant kStart{};

PushPermit permit_of(unsigned number) {
    return {.token = {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8U)},
            .source = "login1",
            .specs = "1;wd,/a,/images/a"};
}

StagePlan plan_of(const PushPermit& permit) {
    StagePlan plan;
    plan.push_token = permit.token;
    plan.push_specs = permit.specs;
    plan.nodes = {{permit.source, "10.0.0.1"}, {"n1", "10.0.0.2"}};
    return plan;
}

}  // namespace

TEST_CASE("only a plan with the token, the source and the specs that were granted is taken") {
    PushPermits permits;
    CHECK(permits.take(kStage, plan_of(permit_of(1)), kStart));
    permits.grant(permit_of(1), kStart);
    CHECK(permits.take(kStage, plan_of(permit_of(2)), kStart));
    StagePlan plan = plan_of(permit_of(1));
    plan.nodes.front().name = "n1";
    CHECK(permits.take(kStage, plan, kStart));
    plan = plan_of(permit_of(1));
    plan.push_specs = "1;wd,/a,/images/b";
    CHECK(permits.take(kStage, plan, kStart));
    plan.nodes.clear();
    CHECK(permits.take(kStage, plan, kStart));
    CHECK_FALSE(permits.take(kStage, plan_of(permit_of(1)), kStart));
}

TEST_CASE("a permit holds while its stage runs, and a moment longer for the next round") {
    PushPermits permits;
    permits.grant(permit_of(1), kStart);
    const StagePlan plan = plan_of(permit_of(1));
    REQUIRE_FALSE(permits.take(kStage, plan, kStart));
    const Instant late = kStart + 5 * kPushPermitMax;
    CHECK_FALSE(permits.take(kStage, plan, late));  // Another parent says SETUP once more.
    permits.release(kNext, late);
    permits.release(kStage, late);
    CHECK_FALSE(permits.take(kNext, plan, late + kNextRoundMax));
    permits.release(kNext, late);
    CHECK(permits.take(kNext, plan, late + 2 * kNextRoundMax));
}

TEST_CASE("a permit that is not used in time is dropped, and so is the oldest of too many") {
    PushPermits permits;
    permits.grant(permit_of(1), kStart);
    CHECK(permits.take(kStage, plan_of(permit_of(1)), kStart + 2 * kPushPermitMax));
    for (unsigned i = 0; i <= kMaxPushPermits; ++i) {
        permits.grant(permit_of(i), kStart);
    }
    CHECK(permits.take(kStage, plan_of(permit_of(0)), kStart));
    CHECK_FALSE(permits.take(kStage, plan_of(permit_of(1)), kStart));
}
