// Tests that a run ends with its stage, in whatever state its worker and its host are.
#include "stager/daemon/run/node_run.h"

#include "pmix/host_message.h"
#include "stager/daemon/run/host_pool.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace stage {
namespace {

using Catch::Matchers::Contains;

/// A line of a shell that says `bytes` to the daemon.
std::string saying(Bytes bytes, const std::string& before = "") {
    std::string text = "printf '" + before;
    for (const std::byte byte : bytes) {
        std::array<char, 8> octal{};
        static_cast<void>(std::snprintf(
            octal.data(), octal.size(), "\\%03o", std::to_integer<unsigned>(byte)));
        text += octal.data();
    }
    return text + "' >&3\n";
}

constexpr const char* kNoFile = "\\001";  ///< Before a worker's words.
constexpr const char* kHearing = "dd bs=1048576 count=1 <&3 >/dev/null 2>&1\n";

class RunOwner final : public NodeRunOwner {
  public:
    void on_started() override {}
    void on_wire_up_part(Collective /*kind*/,
                         std::uint32_t /*sequence*/,
                         std::vector<std::byte> /*bytes*/) override {}
    void on_listening() override { ++listening; }
    void on_outcome(WorkerOutcome /*outcome*/) override {}
    void on_dropped(const WorkerDropped& /*dropped*/) override {}
    void on_wire_up_lost(const std::string& why) override { trouble = why; }
    void on_port_taken(const std::string& why) override { trouble = why; }
    void on_run_failed(Blame whose, const std::string& sentence) override {
        blame = whose;
        trouble = sentence;
    }
    void on_gone() override { is_gone = true; }

    std::string trouble;
    std::optional<Blame> blame;
    bool is_gone = false;
    int listening = 0;
};

void make_program(const ServicesWorld& world,
                  const std::string& name,
                  const std::string& text) {
    world.scratch.write(name, "#!/bin/sh\n" + text);
    REQUIRE(::chmod(world.scratch.path(name).c_str(), 0755) == 0);
}

}  // namespace

TEST_CASE("a run whose stage is over lets its host go, even if its worker has just failed",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    world.config.interfaces = {{"ib9"}};  // A stage of one node needs none.
    world.config.data_port_range = {.first = 41'000, .last = 42'000};
    world.config.libexec_dir = world.scratch.path();
    REQUIRE(::chmod(world.scratch.path().c_str(), 0755) == 0);
    make_program(world,
                 "pmix-host",
                 saying(encode_from_host(HostReady{.gated = true})) + kHearing +
                     saying(encode_from_host(HostEnv{{"PMIX_RANK=0",
                                                      "HOME=/of/the/user",
                                                      "LD_AUDIT=/of/the/user",
                                                      "PMIX_MCA_x=/of/the/user"}})) +
                     saying(encode_from_host(HostConnected{})) + "exec sleep 600\n");
    WorkerOutcome failed;
    failed.state = VerdictState::failed;
    failed.sentence = "PMIx does not answer";
    WorkerProgress progress;
    progress.bytes_total = 7;
    const std::string variables = world.scratch.write("variables", "");
    REQUIRE(::chmod(variables.c_str(), 0666) == 0);
    make_program(world,
                 "stagecast-worker",
                 "env >" + variables + '\n' + kHearing +
                     saying(encode_from_worker(failed), kNoFile) +
                     saying(encode_from_worker(progress), kNoFile) + kHearing);
    const UniqueFd root{
        ::open(world.scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    RunOrder order;
    order.request.key = {.job_id = 7, .step_id = kWholeJob};
    order.request.uid = kUnknownUid;
    order.request.gid = kUnknownUid;
    order.request.node_name = "n0";
    order.plan.nodes = {{"n0", "127.0.0.1"}};
    order.plan.group_address = "239.255.77.7";
    order.plan.group_port = 41'001;
    order.deadline = world.loop().now() + std::chrono::seconds{60};
    RunOwner owner;
    NodeRun run{world.services->basics,
                {.hosts = world.services->hosts,
                 .verdicts = world.services->verdicts,
                 .cache = world.services->cache,
                 .closers = world.services->closers,
                 .ports = world.services->ports},
                owner,
                order};
    run.begin(root.get());
    world.run_until([&] { return run.progress().bytes_total == 7 || !owner.trouble.empty(); });
    INFO(owner.trouble);
    REQUIRE(owner.trouble.empty());
    CHECK(owner.listening == 1);
    // The host is a process of the user's: it names no code that the worker loads.
    CHECK_THAT(test::content_of(variables),
               Contains("PMIX_RANK=0\n") && Contains("HOME=/\n") && !Contains("/of/the/user"));
    run.abort(Blame::user, "the job has ended");
    world.run_until([&] { return owner.is_gone; });
    CHECK(run.is_gone());
}

TEST_CASE("a StageRoot that was closed to users meanwhile is the node's fault", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    world.config.stage_root = world.scratch.path();
    REQUIRE(::chmod(world.scratch.path().c_str(), 0700) == 0);
    const UniqueFd root{
        ::open(world.scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    RunOrder order;
    order.request.key = {.job_id = 7, .step_id = kWholeJob};
    order.plan.nodes = {{"n0", "127.0.0.1"}};
    RunOwner owner;
    NodeRun run{world.services->basics,
                {.hosts = world.services->hosts,
                 .verdicts = world.services->verdicts,
                 .cache = world.services->cache,
                 .closers = world.services->closers,
                 .ports = world.services->ports},
                owner,
                order};
    run.begin(root.get());
    CHECK(owner.blame == Blame::node);
    CHECK_THAT(owner.trouble, Contains("can be entered by root only; chmod go+x it"));
}

TEST_CASE(
    "a host whose listener can't be restricted serves no stage, and no second one is started",
    "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    REQUIRE(::chmod(world.scratch.path().c_str(), 0755) == 0);
    make_program(world,
                 "pmix-host",
                 "echo x >>" + world.scratch.path("started") + '\n' +
                     saying(encode_from_host(HostReady{.gated = false})) + "exec sleep 600\n");
    HostPool& pool = world.services->hosts;
    CHECK(pool.can_serve());
    int refused = 0;
    const auto on_host = [&](const Result<HostPool::HostPointer>& host) {
        CHECK_FALSE(host);
        ++refused;
    };
    pool.take(on_host);
    world.run_until([&] { return refused == 1; });
    CHECK_FALSE(pool.can_serve());
    pool.take(on_host);
    world.run_until([&] { return refused == 2; });
    CHECK(test::content_of(world.scratch.path("started")) == "x\n");
}

TEST_CASE("without munge no host is started, and the reason is given", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    make_program(world, "pmix-host", "echo x >>" + world.scratch.path("started") + '\n');
    std::vector<std::string> warnings;
    const Logger log{[&](LogLevel, std::string_view line) { warnings.emplace_back(line); },
                     LogLevel::info};
    HostDirectories directories{
        world.loop(),
        world.services->basics.children,
        log,
        UniqueFd{::open(world.scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
        world.scratch.path(),
        HostDirectories::Pauses{}};
    HostPool pool{world.loop(),
                  world.services->basics.children,
                  log,
                  HostPlace{.program = world.scratch.path("pmix-host"),
                            .directories = directories,
                            .has_munge = false},
                  2};
    CHECK_FALSE(pool.can_serve());
    std::string why;
    pool.take(
        [&](const Result<HostPool::HostPointer>& host) { why = host.error().sentence(); });
    world.run_until([&] { return !why.empty(); });
    CHECK(why == "with AuthKeyFile= there are no PMIx hosts: they need munge");
    CHECK_FALSE(std::filesystem::exists(world.scratch.path("started")));
    CHECK(warnings.empty());
}

}  // namespace stage
