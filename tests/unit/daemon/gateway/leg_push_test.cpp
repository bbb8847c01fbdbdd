#include "stager/daemon/gateway/leg_push.h"

#include "tests/unit/daemon/gateway/gateway_world.h"

#include <nlohmann/json.hpp>

using namespace stage;

namespace {

/// Pushes from n0 of cluster a to nodes of cluster b, whose gateway would be n3.
struct LegWorld : GatewayWorld {
    LegWorld() {
        world.config.routes = {{"b/n3", "127.0.0.1"}};
        request.node_list = "n[1-2]";
        request.specs = "1;wd,/data/x,/images/x";
    }

    nlohmann::json report() {
        bool is_done = false;
        LegPush push{*world.services, stages, request, "b", [&] { is_done = true; }};
        push.begin();
        if (is_cancelled) {
            push.cancel("stagecast push was interrupted");
        }
        world.run_until([&] { return is_done; });
        return push.report();
    }
    std::string why() {
        const auto said = report();
        CHECK(said.at("done") == 0);
        CHECK(said.at("phase") == "over");
        REQUIRE(said.at("failed").size() == 1);
        CHECK(said.at("failed")[0].at("node") == "b:n[1-2]");
        return said.at("failed")[0].at("why");
    }

    PushRequest request;
    bool is_cancelled = false;
};

}  // namespace

TEST_CASE("a push to another cluster names what is missing here", "[root]") {
    if (!is_root()) {
        return;
    }
    LegWorld one;
    SECTION("a route") {
        one.world.config.routes = {{"c/n3", "127.0.0.1"}};
        CHECK_THAT(one.why(), Catch::Contains("Routes in this node's stagecast.conf names no"));
    }
    SECTION("a name") {
        one.world.config.cluster_name = "";
        CHECK_THAT(one.why(), Catch::Contains("ClusterName in this node's"));
    }
    SECTION("a check beforehand") {
        one.request.mode = PushMode::look;
        CHECK_THAT(one.why(), Catch::Contains("--dry-run and --verify"));
    }
    SECTION("a worker that looks at the source") {
        CHECK_FALSE(one.why().empty());
    }
    SECTION("a user who interrupts it") {
        one.is_cancelled = true;
        CHECK_THAT(one.why(), Catch::Contains("was interrupted"));
    }
    CHECK(one.stages.begun == 0);
}
