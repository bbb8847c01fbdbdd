#include "stager/daemon/legs/leg_permits.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

LegPermit permit_of(unsigned number) {
    LegPermit permit;
    permit.token = {static_cast<std::byte>(number)};
    permit.source = "a/n0";
    permit.specs = "1;wd,/a,/images/a";
    return permit;
}

StagePlan plan_of(const LegPermit& permit) {
    StagePlan plan;
    plan.push_token = permit.token;
    plan.push_specs = permit.specs;
    plan.relays = true;
    plan.nodes = {{permit.source, ""}, {"b/gw1", "192.0.2.7"}};
    return plan;
}

}  // namespace

TEST_CASE("a leg is taken once, from the daemon that asked, as it was agreed") {
    LegPermits permits;
    const StagePlan right = plan_of(permit_of(1));
    CHECK_FALSE(permits.take("a/n0", right));
    permits.grant(permit_of(1));
    CHECK_FALSE(permits.take("a/n1", right));
    CHECK_FALSE(permits.take("c/n0", right));
    CHECK_FALSE(permits.take("a/n0", plan_of(permit_of(2))));
    StagePlan plan = right;
    plan.push_specs = "1;wd,/a,/images/b";
    CHECK_FALSE(permits.take("a/n0", plan));
    plan = right;
    plan.nodes.push_back({"b/n1", "192.0.2.8"});
    CHECK_FALSE(permits.take("a/n0", plan));
    plan = right;
    plan.relays = false;
    CHECK_FALSE(permits.take("a/n0", plan));
    plan = right;
    plan.nodes.front().name = "a/n1";
    CHECK_FALSE(permits.take("a/n0", plan));
    CHECK(permits.take("a/n0", right));
    CHECK_FALSE(permits.take("a/n0", right));
}

TEST_CASE("a permit that was withdrawn is none, and others stay") {
    LegPermits permits;
    permits.grant(permit_of(1));
    permits.grant(permit_of(2));
    permits.withdraw(permit_of(1).token);
    CHECK_FALSE(permits.take("a/n0", plan_of(permit_of(1))));
    CHECK(permits.take("a/n0", plan_of(permit_of(2))));
}
