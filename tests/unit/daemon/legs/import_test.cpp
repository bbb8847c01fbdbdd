#include "stager/daemon/legs/import.h"

#include "stager/spec/spec_list.h"
#include "tests/unit/daemon/false_node.h"
#include "tests/unit/root.h"

#include <array>

using namespace stage;

namespace {

/// The first node of a job of cluster b, whose file is on cluster a.
struct ImportWorld {
    ImportWorld() {
        world.config.cluster_name = "b";
        world.config.stage_root = world.scratch.path();
        world.links.cluster_name = "b";
        request.key.job_id = 42;
        request.uid = 2001;
        const StageSpec spec{.source = "/data/x"};
        const auto line = serialize(std::array{spec}, {.cluster = "a", .ticket = "00"});
        REQUIRE(line);
        request.specs = *line;
    }

    /// The gateway a/n3 answers so; `routes` of them are known.
    void import_from(std::vector<TreeMessage> answers, std::size_t routes = 1) {
        gateway.emplace(world, std::move(answers), "a");
        world.config.port = gateway->port();
        world.config.routes.assign(routes, {"a/n3", "127.0.0.1"});
        begin();
    }
    void begin() {
        import.emplace(*world.services,
                       request,
                       Import::Hooks{.on_ready = [](const RunPassage&) {},
                                     .on_fail = [this] { has_failed = true;
    }});
import->begin();
}  // namespace
std::string why() {
    world.run_until([this] { return has_failed; });
    REQUIRE(import->error());
    return import->error()->sentence();
}

ServicesWorld world;
StageRequest request;
std::optional<FalseNode> gateway;
bool has_failed = false;
std::optional<Import> import;
}
;

const ExportMessage kObject{.blocks = 2, .object_bytes = 1000};

}  // namespace

TEST_CASE("an import names the key that is missing here", "[root]") {
    if (!is_root()) {
        return;
    }
    ImportWorld one;
    SECTION("a route") {
        one.begin();
        CHECK_THAT(one.why(), Catch::Contains("Routes in this node's stagecast.conf names no"));
    }
    SECTION("a name") {
        one.world.config.cluster_name = "";
        one.begin();
        CHECK_THAT(one.why(), Catch::Contains("ClusterName in this node's"));
    }
    CHECK(one.import->error()->blame() == Blame::user);
}

TEST_CASE("a gateway's refusal is the job's reason, with its name and blame", "[root]") {
    if (!is_root()) {
        return;
    }
    ImportWorld one;
    one.import_from({ExportMessage{.blame = Blame::user, .sentence = "the ticket has expired"}},
                    2);
    CHECK(one.why() == "cluster a, gateway a/n3: the ticket has expired");
    CHECK(one.import->error()->blame() == Blame::user);
}

TEST_CASE("a gateway that says nothing of use is named", "[root]") {
    if (!is_root()) {
        return;
    }
    ImportWorld one;
    SECTION("it closes the connection") {
        one.import_from({PulseMessage{}});
        CHECK_THAT(one.why(), Catch::StartsWith("cluster a, gateway a/n3: "));
    }
    SECTION("it offers twice") {
        one.import_from({kObject, kObject});
        CHECK_THAT(one.why(), Catch::Contains("it answered twice"));
    }
    SECTION("it sends a SETUP that nothing here fits") {
        one.world.services->on_setup = [](const SetupMessage&, auto link) { link.reset(); };
        one.import_from({kObject, SetupMessage{}});
        CHECK_THAT(one.why(), Catch::Contains("have both clusters one release?"));
    }
    CHECK(one.import->error()->blame() == Blame::node);
}

TEST_CASE("more than this node allows, or has room for, is refused here", "[root]") {
    if (!is_root()) {
        return;
    }
    ImportWorld one;
    SECTION("by MaxBytes") {
        one.world.config.max_bytes = 999;
        one.import_from({kObject});
        CHECK_THAT(one.why(), Catch::Contains("MaxBytes"));
        CHECK(one.import->error()->blame() == Blame::user);
    }
    SECTION("on the disk") {
        constexpr std::uint32_t kMany = 1U << 22U;
        one.import_from({ExportMessage{.blocks = kMany,
                                       .object_bytes = std::uint64_t{kMany} * kBlockBytes}});
        CHECK_THAT(one.why(), Catch::Contains("needs") || Catch::Contains("no object has"));
    }
}

TEST_CASE("what a gateway offers becomes a permit for its leg, until the job ends", "[root]") {
    if (!is_root()) {
        return;
    }
    ImportWorld one;
    std::optional<LegPermit> permit;
    StagePlan plan;
    one.world.services->on_setup = [&](const SetupMessage& /*setup*/, auto /*link*/) {
        const auto specs = specs_of_leg(one.request.specs);
        plan.push_specs = *specs;
        plan.relays = true;
        plan.nodes = {{"a/n3", ""}, {"b/n0", "127.0.0.1"}};
        CHECK_FALSE(one.world.services->leg_permits.take("a/n3", plan));  // Another token.
    };
    one.import_from({kObject, SetupMessage{}});
    CHECK_FALSE(one.why().empty());
    CHECK_FALSE(one.world.services->leg_permits.take("a/n3", plan));
}
