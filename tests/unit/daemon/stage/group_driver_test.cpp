// Do a group's commands become links and ports, or reach the stage, in their order?
#include "stager/daemon/stage/group_driver.h"

#include "tests/unit/daemon/false_node.h"
#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr StageKey kDrivenKey{.job_id = 7, .step_id = kWholeJob, .restart = 0};

std::vector<std::byte> some_bytes() {
    return {std::byte{1}, std::byte{2}, std::byte{3}};
}

StagePlan plan_of(const std::vector<std::string>& nodes) {
    StagePlan plan;
    for (const std::string& node : nodes) {
        plan.nodes.push_back({node, "127.0.0.1"});
    }
    plan.group_port = 1;
    return plan;
}

/// This node is the root, and keeps the commands for its stage.
class DriverWorld {
  public:
    explicit DriverWorld(const std::vector<std::string>& nodes) : nodes_{nodes} {}
    GroupDriver& driver() {
        if (!driver_) {
            driver_.emplace(
                world.services->basics,
                GroupDriver::Resources{world.services->dialer, world.services->ports},
                kDrivenKey,
                plan_of(nodes_),
                Rank{0},
                world.loop().now() + std::chrono::seconds{60},
                GroupDriver::Hooks{.on_command =
                                       [this](StageCommand command) {
                                           commands.push_back(std::move(command));
                                           if (on_command) {
                                               on_command();
                                           }
                                       },
                                   .progress = [] { return TreeProgress{}; },
                                   .on_change = [this] { ++changes; }});
        }
        return *driver_;
    }
    template <class Command>
    [[nodiscard]] bool has_last() const {
        return !commands.empty() && std::holds_alternative<Command>(commands.back());
    }

    [[nodiscard]] std::optional<Collective> last_kind() const {
        return has_last<group::Deliver>()
                   ? std::optional{std::get<group::Deliver>(commands.back()).kind}
                   : std::nullopt;
    }

    ServicesWorld world;
    std::vector<StageCommand> commands;
    std::function<void()> on_command;
    int changes = 0;

  private:
    std::vector<std::string> nodes_;
    std::optional<GroupDriver> driver_;
};

}  // namespace

TEST_CASE("what all nodes have contributed becomes an order for this node's worker") {
    DriverWorld world{{"n0"}};
    GroupDriver& driver = world.driver();
    CHECK(driver.is_alone());
    driver.begin();
    CHECK(world.commands.empty());
    driver.contribute(Collective::fence, 3, some_bytes());
    REQUIRE(world.has_last<group::Deliver>());
    const auto fence = std::get<group::Deliver>(world.commands.back());
    CHECK((fence.kind == Collective::fence && fence.sequence == 3));
    CHECK(fence.bytes.size() == some_bytes().size());
    driver.contribute(Collective::group, 4, {});
    REQUIRE(world.has_last<group::Deliver>());
    const auto group = std::get<group::Deliver>(world.commands.back());
    CHECK((group.kind == Collective::group && group.sequence == 4));
    CHECK(group.bytes.size() == sizeof(std::uint64_t));  // A context id.
    driver.contribute(Collective::listening, 0, {});
    CHECK(world.last_kind() == Collective::listening);
    CHECK(world.commands.size() == 3);
    CHECK_FALSE(driver.is_quiet());
}

TEST_CASE("an order that leads to another contribution is followed by that one's order") {
    DriverWorld world{{"n0"}};
    world.on_command = [&] {
        if (world.commands.size() == 1) {
            world.driver().contribute(Collective::fence, 1, some_bytes());
            CHECK(world.commands.size() == 1);  // The first command is not done yet.
        }
    };
    world.driver().contribute(Collective::fence, 0, some_bytes());
    REQUIRE(world.commands.size() == 2);
    CHECK(std::get<group::Deliver>(world.commands[1]).sequence == 1);
}

TEST_CASE("after a wire-up that began anew only its own parts count") {
    DriverWorld world{{"n0"}};
    GroupDriver& driver = world.driver();
    SECTION("without PMIx") {
        driver.request_direct("PMIx is lost");
        CHECK(world.has_last<group::BeginEpoch>());
        CHECK(driver.plan().group_port == 1);
    }
    SECTION("at another port") {
        driver.request_port("another program has it");
        CHECK(world.has_last<group::BeginEpoch>());
        CHECK(driver.plan().group_port != 1);
        driver.contribute(Collective::fence, 0, some_bytes());
        CHECK(world.has_last<group::BeginEpoch>());
    }
    CHECK(driver.plan().cards_follow);
    const std::size_t before = world.commands.size();
    driver.contribute(Collective::listening, 0, {});
    CHECK(world.last_kind() == Collective::listening);
    driver.contribute(Collective::cards, 0, some_bytes());
    CHECK(world.has_last<group::Deliver>());
    CHECK(world.commands.size() == before + 2);
}

TEST_CASE("where no other port is free the stage fails, and the range is named") {
    DriverWorld world{{"n0"}};
    world.world.config.data_port_range = {1, 1};
    world.driver().request_port("another program has it");
    world.world.run_until([&] { return world.has_last<group::Settle>(); });
    CHECK_THAT(world.driver().group().verdict()->sentence,
               Catch::Contains("no UDP port of DataPortRange (1-1) is free on all nodes"));
}

TEST_CASE("a root calls its children and settles by what they answer") {
    DriverWorld world{{"n0", "n3"}};
    FalseNode child{world.world, {FailedMessage{{{Rank{1}, Blame::user, "why"}}}}};
    world.world.config.port = child.port();
    world.driver().begin();
    world.world.run_until([&] { return world.has_last<group::Settle>(); });
    const auto& verdict = world.driver().group().verdict();
    CHECK(verdict->sentence == "node n3: why");
    CHECK(verdict->culprit == Rank{1});
    CHECK(world.commands.size() == 1);
    world.world.run_until([&] { return world.driver().is_quiet(); });
    CHECK(world.changes > 0);
}

TEST_CASE("a group that is stopped settles at once, by this node's failure") {
    DriverWorld world{{"n0"}};
    world.driver().stop(Blame::user, "the job was cancelled");
    REQUIRE(world.has_last<group::Settle>());
    CHECK(world.driver().group().verdict()->sentence == "node n0: the job was cancelled");
    CHECK(world.driver().is_quiet());
}

}  // namespace stage
