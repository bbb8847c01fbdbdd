// Tests how an announced stage gets its plan, or why it gets none.
#include "stager/daemon/planning/plan_wait.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

/// A stage of n0 that waits for its plan.
class WaitWorld {
  public:
    WaitWorld() { world.config = default_config(); }

    void begin(const std::string& node_list) {
        StageRequest request{.key = {.job_id = 7}, .uid = 2001, .node_name = "n0"};
        request.node_list = node_list;
        wait.begin(request, world.loop().now(), limits);
    }

    ServicesWorld world;
    PlaceTicket place{
        world.loop(), world.config, world.services->ports, world.services->places};
    JobWatch watch{
        world.loop(),
        world.services->basics.children,
        world.config,
        {.job_id = 7},
        {.on_over = [](const std::string&) {}, .progress = [] { return std::string{}; }}};
    StageLimits limits{
        .time = std::chrono::seconds{60},
        .ends = {.work = std::chrono::seconds{50}, .verdict = std::chrono::seconds{55}},
        .words = "60 s"};
    std::string trouble;
    std::optional<std::string> blamed;
    std::optional<StagePlan> plan;
    PlanWait wait{world.services->basics,
                  {.places = world.services->places,
                   .addresses = world.services->addresses,
                   .hosts = world.services->hosts,
                   .ports = world.services->ports,
                   .dialer = world.services->dialer},
                  place,
                  watch,
                  {.on_plan = [this](const StagePlan& made) { plan = made; },
                   .on_fail =
                       [this](Blame, const std::string& sentence, const auto& node) {
                           trouble = sentence;
                           blamed = node;
                       }}};
};

}  // namespace

TEST_CASE("a stage that can't begin here says why at once", "[root]") {
    if (!is_root()) {
        return;
    }
    WaitWorld one;
    SECTION("its list does not have this node") {
        one.begin("n[1-2]");
        CHECK(one.trouble == "this node is not in the job's node list");
    }
    SECTION("staging is switched off") {
        one.world.config.enabled = false;
        one.begin("n0");
        CHECK_THAT(one.trouble, Catch::Contains("Enabled=no"));
    }
    SECTION("no place became free in its time") {
        one.world.config.max_stages_per_node = 1;
        PlaceTicket other{one.world.loop(),
                          one.world.config,
                          one.world.services->ports,
                          one.world.services->places};
        bool has_place = false;
        REQUIRE(other.wait(2002, [&] { has_place = true; }));
        one.world.run_until([&] { return has_place; });
        one.limits.ends.work = std::chrono::milliseconds{1};
        one.begin("n0");
        CHECK(one.wait.is_queued());
        one.world.run_until([&] { return !one.trouble.empty(); });
        CHECK_THAT(one.trouble, Catch::Contains("60 s"));
    }
    CHECK_FALSE(one.blamed);
    CHECK_FALSE(one.plan);
}

TEST_CASE("the first node makes the plan, and another node does not", "[root]") {
    if (!is_root()) {
        return;
    }
    WaitWorld one;
    SECTION("first") {
        one.begin("n0");
        one.world.run_until([&] { return one.plan.has_value(); });
        CHECK(one.wait.is_first());
        CHECK(one.plan->nodes.size() == 1);
    }
    SECTION("second") {
        one.world.config.announce_timeout = {};
        one.begin("m0,n0");
        CHECK_FALSE(one.wait.is_first());
        CHECK_FALSE(one.wait.is_queued());
    }
    SECTION("stopped") {
        one.begin("n0");
        one.wait.stop();
        bool is_later = false;
        one.world.loop().defer([&] { is_later = true; });
        one.world.run_until([&] { return is_later; });
        CHECK_FALSE(one.plan);
    }
    CHECK(one.trouble.empty());
}

}  // namespace stage
