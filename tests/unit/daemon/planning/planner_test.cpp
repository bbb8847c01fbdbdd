// Tests which node lists slurmctld must confirm, and when it is asked for addresses.
#include "stager/daemon/planning/planner.h"

#include "stager/slurm/host_list.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>

namespace stage {
namespace {

/// In place of the child that asks Slurm: the job has n1 and n2, and every node is at one
/// place.
int answer_for_slurm(int fd) {
    std::array<std::byte, 4096> bytes{};
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    ByteReader reader{Bytes{bytes}.first(got > 0 ? static_cast<std::size_t>(got) : 0)};
    const auto question = decode_question(reader.blob(bytes.size()));
    if (!question) {
        return 1;
    }
    SlurmAnswer answer{SlurmJob{.state = SlurmJobState::alive,
                                .restart_count = 1,
                                .word = "RUNNING",
                                .node_list = "n[1-2]"}};
    if (const auto* resolve = std::get_if<ResolveQuestion>(&*question)) {
        std::vector<SlurmNode> nodes;
        const auto names = expand_host_list(resolve->node_list);
        for (const std::string& name : names ? *names : std::vector<std::string>{}) {
            nodes.push_back({.name = name, .address = "10.0.0.9"});
        }
        answer = std::move(nodes);
    }
    ByteWriter out;
    out.blob(encode_slurm_answer(answer));
    return ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

int say_nothing(int) {
    return 1;
}

Result<StagePlan> plan_of(ServicesWorld& world,
                          std::uint32_t step_id,
                          const std::string& list,
                          bool is_late = false,
                          const std::string& specs = {},
                          OnNodeFault on_fault = OnNodeFault::fail) {
    world.config = default_config();
    world.config.on_node_fault = on_fault;
    Planner planner{world.services->basics,
                    {.addresses = world.services->addresses,
                     .hosts = world.services->hosts,
                     .ports = world.services->ports}};
    StageRequest request;
    request.key = {.job_id = 42, .step_id = step_id, .restart = 0};
    request.uid = 2001;
    request.node_list = list;
    request.specs = specs;
    request.is_late = is_late;
    auto names = expand_host_list(list);
    REQUIRE(names);
    std::optional<Result<StagePlan>> plan;
    planner.make(
        request, std::move(*names), [&](Result<StagePlan> made) { plan = std::move(made); });
    world.run_until([&] { return plan.has_value(); });
    return *std::move(plan);
}

}  // namespace

TEST_CASE("a step's nodes are the job's, or no plan is made of them", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    CHECK(plan_of(world, 0, "n[1-2]"));
    const auto forged = plan_of(world, 0, "n[1-3]");
    REQUIRE_FALSE(forged);
    CHECK(forged.error().blame() == Blame::user);
    CHECK_THAT(forged.error().sentence(),
               Catch::Contains("n3, which is not a node of the job"));
    // slurmd's own word.
    CHECK(plan_of(world, kWholeJob, "n[1-3]"));
    // A step's, which announces the job because no prolog did.
    CHECK(plan_of(world, kWholeJob, "n[1-2]", true));
    CHECK_FALSE(plan_of(world, kWholeJob, "n[1-3]", true));
    // No other node is asked for anything.
    CHECK(plan_of(world, 0, "n7"));
}

TEST_CASE("without slurmctld a step over several nodes has no plan, a job over known ones has",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, say_nothing}};
    world.services->addresses.learn("n1", "10.0.0.1");
    world.services->addresses.learn("n2", "10.0.0.2");
    CHECK(plan_of(world, kWholeJob, "n[1-2]"));
    CHECK(plan_of(world, 0, "n1"));
    const auto step = plan_of(world, 0, "n[1-2]");
    REQUIRE_FALSE(step);
    CHECK(step.error().blame() == Blame::node);
}

TEST_CASE("a plan drops failed nodes where site and job want it, and not for a step",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const auto drops = [&](std::uint32_t step_id, const std::string& specs, OnNodeFault fault) {
        const auto plan = plan_of(world, step_id, "n[1-2]", false, specs, fault);
        REQUIRE(plan);
        return plan->drops_failed;
    };
    CHECK(drops(kWholeJob, "1,k;-,/a,", OnNodeFault::drop));
    CHECK_FALSE(drops(kWholeJob, "1;-,/a,", OnNodeFault::drop));
    CHECK_FALSE(drops(0, "1,k;-,/a,", OnNodeFault::drop));
    CHECK_FALSE(drops(kWholeJob, "1,k;-,/a,", OnNodeFault::fail));
    CHECK_FALSE(drops(kWholeJob, "1,k;-,/a,", OnNodeFault::requeue));
    const StageRequest push;
    CHECK(draw_plan(world.config, world.services->ports, push).drops_failed);
}

TEST_CASE("a node's address is asked for if it is not remembered, or was of no use", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{[](int) { return 0; }, answer_for_slurm}};
    NodeAddresses& known = world.services->addresses;
    known.learn("n1", "10.0.0.1", world.loop().now());
    known.learn("n2", "10.0.0.2", world.loop().now());
    const auto addresses = [&] {
        const auto plan = plan_of(world, kWholeJob, "n[1-2]");
        REQUIRE(plan);
        return plan->nodes[0].address + " " + plan->nodes[1].address;
    };
    CHECK(addresses() == "10.0.0.1 10.0.0.2");
    known.doubt("n2");
    CHECK(addresses() == "10.0.0.1 10.0.0.9");
    known.learn("n1", "10.0.0.1", world.loop().now() - 2 * kAddressAge);
    CHECK(addresses() == "10.0.0.9 10.0.0.9");
}

TEST_CASE("a job that slurmctld does not know, or of which it tells no nodes, has none") {
    CHECK(objection_to_nodes({"n1"}, {.state = SlurmJobState::absent, .word = "UNKNOWN"}));
    CHECK(objection_to_nodes({"n1"}, {.state = SlurmJobState::alive, .word = "RUNNING"}));
    CHECK_FALSE(objection_to_nodes(
        {"n1", "n2"},
        {.state = SlurmJobState::alive, .word = "RUNNING", .node_list = "n[0-2]"}));
}

}  // namespace stage
