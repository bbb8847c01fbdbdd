#include "pmix/host/host.h"

#include <catch2/catch.hpp>

namespace stage::pmix_host {
namespace {

using namespace std::chrono_literals;

/// Notes what it is asked, as one line each.
class FakeServer final : public Server {
  public:
    Status adopt(const HostJob& job) override {
        log.push_back("adopt " + job.name_space);
        return adopted;
    }
    Result<std::vector<std::string>> environment(const HostJob& /*job*/) override {
        return std::vector<std::string>{"PMIX_RANK=0"};
    }
    void complete_fence(Call call, std::vector<std::byte> data) override {
        log.push_back("fence " + std::to_string(call) + ' ' + std::to_string(data.size()));
    }
    void complete_group(Call call, std::uint64_t context_id) override {
        log.push_back("group " + std::to_string(call) + ' ' + std::to_string(context_id));
    }
    void refuse(Call call) override { log.push_back("refuse " + std::to_string(call)); }
    void ask_pulse() override { log.emplace_back("pulse"); }

    Status adopted;
    std::vector<std::string> log;
};

HostJob job_of(std::uint32_t uid, const std::string& name_space) {
    return {.uid = uid, .gid = 1, .name_space = name_space, .rank = {}, .nodes = {"n0"}};
}

struct HostWorld {
    FakeServer server;
    std::vector<FromHost> sent;
    Host host{server, [this](const FromHost& message) { sent.push_back(message); }};
    Instant now{};

    void adopt() {
        host.on_message(now, job_of(1, "j"));
        host.on_upcall(now, Registered{});
        sent.clear();
        server.log.clear();
    }
    void hear(ToHost message) { host.on_message(now, std::move(message)); }
    void ask(Upcall upcall) { host.on_upcall(now, std::move(upcall)); }
    [[nodiscard]] const HostFailed* failure() const {
        return sent.empty() ? nullptr : std::get_if<HostFailed>(&sent.back());
    }
};

TEST_CASE("a job makes an environment once the library knows it") {
    HostWorld world;
    CHECK_FALSE(world.host.deadline());
    world.hear(job_of(1, "j"));
    CHECK(world.server.log == std::vector<std::string>{"adopt j"});
    CHECK(world.sent.empty());
    world.ask(Registered{});
    REQUIRE(world.sent.size() == 1);
    CHECK(std::get<HostEnv>(world.sent[0]).variables.size() == 1);
}

TEST_CASE("a job that can't be taken is the host's end") {
    HostWorld world;
    SECTION("the user can't be become") {
        world.server.adopted = Error{Blame::node, "no such luck"};
        world.hear(job_of(1, "j"));
    }
    SECTION("the library does not want it") {
        world.hear(job_of(1, "j"));
        world.ask(Registered{.status = Error{Blame::node, "no"}});
    }
    SECTION("there was one before") {
        world.adopt();
        world.hear(job_of(2, "k"));
    }
    SECTION("the library registered a job that was not given") {
        world.ask(Registered{});
    }
    REQUIRE(world.failure() != nullptr);
    CHECK(world.host.over());
}

TEST_CASE("collectives are numbered together and answered by number") {
    HostWorld world;
    world.adopt();
    world.ask(ClientConnected{});
    world.ask(FenceAsked{.call = 71, .data = std::vector<std::byte>(5)});
    world.ask(GroupAsked{.call = 72});
    CHECK(world.sent == std::vector<FromHost>{HostConnected{},
                                              HostFenceUp{0, std::vector<std::byte>(5)},
                                              HostGroupUp{1}});
    world.hear(HostGroupDown{.sequence = 1, .context_id = 9});
    world.hear(HostFenceDown{.sequence = 0, .data = std::vector<std::byte>(20)});
    CHECK(world.server.log == std::vector<std::string>{"group 72 9", "fence 71 20"});
    world.ask(ClientFinalized{});
    CHECK(world.sent.back() == FromHost{HostFinalized{}});
    CHECK_FALSE(world.host.over());
    world.hear(HostDone{});
    CHECK(world.host.over());
}

TEST_CASE("an answer that was not asked for ends the host") {
    HostWorld world;
    world.adopt();
    world.ask(FenceAsked{.call = 1, .data = {}});
    SECTION("another number") {
        world.hear(HostFenceDown{.sequence = 1, .data = {}});
    }
    SECTION("another kind") {
        world.hear(HostGroupDown{.sequence = 0, .context_id = 1});
    }
    SECTION("twice") {
        world.hear(HostFenceDown{.sequence = 0, .data = {}});
        world.hear(HostFenceDown{.sequence = 0, .data = {}});
    }
    CHECK(world.failure() != nullptr);
}

TEST_CASE("a lost member fails pending and later collectives") {
    HostWorld world;
    world.adopt();
    world.ask(FenceAsked{.call = 1, .data = {}});
    world.ask(GroupAsked{.call = 2});
    world.hear(HostAbort{});
    CHECK(world.server.log == std::vector<std::string>{"refuse 1", "refuse 2"});
    world.sent.clear();
    world.ask(FenceAsked{.call = 3, .data = {}});
    CHECK(world.server.log.back() == "refuse 3");
    CHECK(world.sent.empty());

    // This crossed the abort on its way.
    world.hear(HostFenceDown{.sequence = 0, .data = {}});
    CHECK(world.server.log.back() == "refuse 3");
    CHECK_FALSE(world.host.over());
}

TEST_CASE("a worker has a bounded number of collectives under way") {
    HostWorld world;
    world.adopt();
    for (Call call = 0; call < kMaxCalls; ++call) {
        world.ask(FenceAsked{.call = call, .data = {}});
    }
    CHECK(world.server.log.empty());
    world.ask(FenceAsked{.call = 99, .data = {}});
    CHECK(world.server.log == std::vector<std::string>{"refuse 99"});
}

TEST_CASE("the progress thread is asked for a pulse again and again") {
    HostWorld world;
    world.adopt();
    for (int i = 0; i < 3; ++i) {
        REQUIRE(world.host.deadline());
        world.now = *world.host.deadline();
        world.host.on_time(world.now);
        CHECK(world.server.log.back() == "pulse");
        world.now += 1ms;
        world.ask(Pulse{});
        CHECK(world.host.deadline() == world.now + kPulseEvery);
    }
    CHECK(world.server.log.size() == 3);
    CHECK(world.sent.empty());
}

TEST_CASE("a progress thread that stays silent is reported once") {
    HostWorld world;
    world.adopt();
    world.host.on_time(world.now);
    world.now += kPulseMax - 1ns;
    world.host.on_time(world.now);
    CHECK(world.sent.empty());
    world.now += 1ns;
    world.host.on_time(world.now);
    REQUIRE(world.failure() != nullptr);
    CHECK(world.failure()->blame == Blame::node);
    CHECK(world.host.over());
    world.ask(Pulse{});
    world.host.on_time(world.now + kPulseMax);
    CHECK(world.sent.size() == 1);
}

}  // namespace
}  // namespace stage::pmix_host
