// Tests that a node gets another node's report on a job once, and can do without it.
#include "stager/daemon/remote_status.h"

#include "tests/unit/daemon/false_node.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

/// What comes of asking node n3, which answers so.
std::optional<std::string> answer_of(std::vector<TreeMessage> answers) {
    ServicesWorld world;
    FalseNode first{world, std::move(answers)};
    world.config.port = first.port();
    world.services->addresses.learn("n3", "127.0.0.1");
    RemoteStatuses reports{
        world.services->basics, world.services->addresses, world.services->dialer};
    std::optional<std::string> report;
    int times = 0;
    REQUIRE(reports.ask({.uid = 7, .request = {}}, "n3", [&](const auto& json) {
        report = json;
        ++times;
    }));
    world.run_until([&] { return times > 0; });
    bool has_ended = false;
    world.loop().after(std::chrono::milliseconds{20}, [&] { has_ended = true; });
    world.run_until([&] { return has_ended; });
    CHECK(times == 1);
    return report;
}

}  // namespace

TEST_CASE("another daemon's report comes once, and nonsense is none") {
    CHECK(answer_of({ReportMessage{"{}"}}) == "{}");
    CHECK_FALSE(answer_of({TellMessage{TellWord::announced}}));
    CHECK_FALSE(answer_of({}));
}

TEST_CASE("only a limited number of reports is fetched at one time") {
    ServicesWorld world;
    FalseNode first{world, {ReportMessage{"{}"}}};
    world.config.port = first.port();
    world.services->addresses.learn("n3", "127.0.0.1");
    RemoteStatuses reports{
        world.services->basics, world.services->addresses, world.services->dialer};
    const auto ask = [&](std::uint32_t uid) {
        return reports.ask({.uid = uid, .request = {}}, "n3", [](const auto&) {});
    };
    for (std::size_t i = 0; i < kRemoteStatusesOfUserMax; ++i) {
        REQUIRE(ask(2001));
    }
    CHECK_FALSE(ask(2001));
    CHECK(ask(2002));
    for (std::size_t i = kRemoteStatusesOfUserMax + 1; i < kRemoteStatusesMax; ++i) {
        REQUIRE(ask(0));
    }
    CHECK_FALSE(ask(0));
    CHECK_FALSE(ask(2002));
}

}  // namespace stage
