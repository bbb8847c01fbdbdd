// Does a node tell what it knows of a stage, whoever comes first: the plugin or other daemons?
#include "stager/daemon/stage/registry.h"

#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/tree/plan.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace stage {
namespace {

constexpr StageKey kKey{.job_id = 7, .step_id = kWholeJob, .restart = 0};
constexpr StageKey kRequeued{.job_id = 7, .step_id = kWholeJob, .restart = 1};
constexpr StageKey kPush{.job_id = kPushJob, .step_id = 1, .restart = 1};
constexpr const char* kRestarted = "stagecastd was restarted while it staged";

/// What slurmctld knows of the job: kSomebody's, in its second life.
int answer_for_slurm(int fd) {
    ByteWriter out;
    out.blob(encode_slurm_answer(SlurmAnswer{SlurmJob{.state = SlurmJobState::alive,
                                                      .restart_count = 1,
                                                      .word = "RUNNING",
                                                      .node_list = "n[0-1]",
                                                      .uid = kSomebody,
                                                      .gid = kSomebody}}));
    std::array<std::byte, 4096> question{};
    const bool is_asked = ::recv(fd, question.data(), question.size(), 0) > 0;
    return is_asked && ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

/// This node, "n1", and over a link the daemon of the job's first, "n0".
class RegistryWorld {
  public:
    /// `roles`: as ServicesWorld has them.
    explicit RegistryWorld(std::vector<SpawnRole> roles = {}) : world{std::move(roles)} {
        world.links.node_name = "n1";
        world.config.announce_timeout = std::chrono::seconds{60};
        parent_policy_.node_name = "n0";
        plan_.nodes = {{"n0", "127.0.0.1"}, {"n1", "127.0.0.1"}};
        auto opened = Listener::open(0, world.links, world.munge, log_);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        REQUIRE(world.loop().watch(listener_->fd(), EPOLLIN, [this](auto) { on_connect(); }));
    }
    RegistryWorld(const RegistryWorld&) = delete;
    RegistryWorld& operator=(const RegistryWorld&) = delete;
    ~RegistryWorld() { world.loop().forget(listener_->fd()); }

    /// The first node connects and says SETUP, with `more` right behind it.
    void set_up(const std::vector<TreeMessage>& more = {}) { set_up(encode(plan_), more); }
    void set_up(std::vector<std::byte> plan, const std::vector<TreeMessage>& more) {
        auto link = Link::connect(
            parent_policy_, world.munge, "n1", loopback(listener_->port()), world.loop().now());
        const SetupMessage setup{.key = key_,
                                 .from = Rank{0},
                                 .to = Rank{1},
                                 .remaining_ms = 60'000,
                                 .plan = std::move(plan)};
        REQUIRE(link->send(encode(setup)));
        for (const TreeMessage& message : more) {
            REQUIRE(link->send(encode(message)));
        }
        parent_ = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
        parent_->set_on_change([this] { listen(); });
    }
    /// That of the requeued job, with what the plugin there was told.
    void set_up_requeued(StageRequest request) {
        world.config.announce_timeout = std::chrono::milliseconds{100};
        key_ = kRequeued;
        request.key = kRequeued;
        request.node_name = "n0";
        plan_.request = std::move(request);
        set_up();
    }
    /// That of another job, whose first node is another one; its link stays.
    void set_up_as(const std::string& first_node, std::uint32_t job_id) {
        if (parent_) {
            others_.push_back(std::move(parent_));
        }
        heard_.clear();
        StagePlan plan = plan_;
        plan.nodes.front().name = first_node;
        parent_policy_.node_name = first_node;
        key_.job_id = job_id;
        set_up(encode(plan), {});
    }
    [[nodiscard]] bool has_failed() const {
        return std::ranges::any_of(heard_, [](const TreeMessage& message) {
            return std::holds_alternative<FailedMessage>(message);
        });
    }
    /// The same of a push with these specs, by a plan that this node was not asked about.
    void push(const std::string& specs) {
        key_ = kPush;
        plan_.push_specs = specs;
        set_up();
    }
    void hang_up() { parent_->finish(); }
    void say(const TreeMessage& message) { parent_->send(encode(message)); }

    /// What the first node hears of this kind, sooner or later.
    template <class Message>
    Message next() {
        std::optional<Message> found;
        world.run_until([&] {
            for (const TreeMessage& message : heard_) {
                if (const auto* wanted = std::get_if<Message>(&message)) {
                    found = *wanted;
                }
            }
            return found.has_value();
        });
        return *found;
    }
    [[nodiscard]] bool is_cut() { return parent_->link().state() == Link::State::closed; }

    /// The answer to this node's own plugin, if it comes at once.
    std::optional<Verdict> ask(const Request& request) {
        auto answer = std::make_shared<std::optional<Verdict>>();
        registry.on_request(request, [answer](const Answer& told) {
            if (const auto* verdict = std::get_if<Verdict>(&told)) {
                *answer = *verdict;
            }
        });
        return *answer;
    }
    static StageRequest announcement() {
        return {.key = kKey,
                .uid = kSomebody,
                .gid = kSomebody,
                .node_name = "n1",
                .node_list = "n[0-1]",
                .work_dir = "/",
                .specs = {}};
    }
    void store(VerdictState state,
               const std::string& sentence,
               std::optional<Rank> culprit = {}) {
        REQUIRE(world.services->verdicts.save(kKey,
                                              {.state = state,
                                               .blame = Blame::node,
                                               .sentence = sentence,
                                               .stage_dir = {},
                                               .paths = {}},
                                              culprit));
    }

    ServicesWorld world;
    Registry registry{*world.services};

  private:
    void on_connect() {
        for (auto& link : listener_->accept(world.loop().now())) {
            guest_ = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
            guest_->set_on_change([this] {
                const auto frame = guest_ ? guest_->link().receive() : std::nullopt;
                const auto message =
                    frame ? decode_tree_message(*frame) : Result<TreeMessage>{PulseMessage{}};
                if (const auto* setup = std::get_if<SetupMessage>(&*message)) {
                    registry.on_setup(*setup, std::move(guest_));
                }
            });
        }
    }
    void listen() {
        while (const auto frame = parent_->link().receive()) {
            auto message = decode_tree_message(*frame);
            REQUIRE(message);
            heard_.push_back(std::move(*message));
        }
    }

    StageKey key_ = kKey;
    LinkPolicy parent_policy_;
    StagePlan plan_;
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    std::unique_ptr<DrivenLink> guest_;
    std::unique_ptr<DrivenLink> parent_;
    std::vector<std::unique_ptr<DrivenLink>> others_;
    std::vector<TreeMessage> heard_;
};

}  // namespace

TEST_CASE("a plugin that comes after the SETUP and its verdict is answered at once") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({GroupVerdict{VerdictState::failed, Blame::user, "node n0: why"}});
    world.next<SettledMessage>();
    const auto verdict = world.ask(RegistryWorld::announcement());
    REQUIRE(verdict);
    CHECK(verdict->sentence == "node n0: why");
}

TEST_CASE("a SETUP for a stage that a restart broke off is answered by that, at once") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.store(VerdictState::failed, std::string{"node n1: "} + kRestarted);
    world.set_up();
    CHECK(world.next<FailedMessage>().failures ==
          std::vector<Failure>{{Rank{1}, Blame::node, kRestarted}});
    const auto stored = world.ask(QueryRequest{kKey});
    REQUIRE(stored);
    CHECK_THAT(stored->sentence, Catch::Contains(kRestarted));
}

TEST_CASE("who had failed is known by rank, whatever the sentence says") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    Failure expected{Rank{1}, Blame::node, "node n0: is what a user's file is called"};
    std::optional<Rank> culprit;
    std::string stored = expected.sentence;
    SECTION("this node, nameless") {
    }
    SECTION("this node") {
        culprit = Rank{1};
        stored = "node n1: " + expected.sentence;
    }
    SECTION("another one") {
        culprit = expected.rank = Rank{0};
        stored = "node n0: " + expected.sentence;
    }
    SECTION("nobody of this stage") {
        culprit = Rank{7};
    }
    world.store(VerdictState::failed, stored, culprit);
    world.set_up();
    CHECK(world.next<FailedMessage>().failures == std::vector<Failure>{expected});
}

TEST_CASE("a plan that this daemon can't read is everybody's failure, by the reason's name") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({std::byte{1}, std::byte{2}}, {});
    const auto failures = world.next<FailedMessage>().failures;
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].rank == Rank{1});
    CHECK(failures[0].blame == Blame::node);
    CHECK_THAT(failures[0].sentence,
               Catch::Contains("of node n0") && Catch::Contains("different releases") &&
                   Catch::Contains("install the same release"));
    CHECK(world.registry.find(kKey) == nullptr);
}

TEST_CASE("a SETUP for a stage that had its verdict is no stage") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    const auto state = GENERATE(VerdictState::ok, VerdictState::partial);
    world.store(state, "");
    world.set_up();
    world.world.run_until([&] { return world.is_cut(); });
    CHECK(world.registry.find(kKey) == nullptr);
    CHECK(world.ask(RegistryWorld::announcement())->state == state);
}

TEST_CASE("a SETUP of a push whose source has not asked this node is refused, by the reason") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.world.config.push_roots = {"/images"};
    std::string why = "the source of this push, node n0, has not asked this node first";
    SECTION("the destination is allowed") {
        world.push("1;wd,/a,/images/a");
    }
    SECTION("it is not") {
        world.push("1;wd,/a,/etc/a");
        why = "/etc/a: lies below none of this node's PushRoots";
    }
    const auto failures = world.next<FailedMessage>().failures;
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].rank == Rank{1});
    CHECK_THAT(failures[0].sentence, Catch::Contains(why));
    CHECK(world.registry.find(kPush) == nullptr);
}

TEST_CASE("a stage that is only held is let go when its job ends") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up();
    world.world.run_until([&] { return world.registry.find(kKey) != nullptr; });
    CHECK(world.registry.find(kKey)->is_held());
    world.ask(EndRequest{.job_id = kKey.job_id, .step_id = kWholeJob});
    CHECK_THAT(world.next<FailedMessage>().failures.at(0).sentence,
               Catch::Contains("the job ended while its files were staged"));
    world.say(GroupVerdict{VerdictState::failed, Blame::user, "node n1: the job ended"});
    world.next<SettledMessage>();
    world.hang_up();
    world.world.run_until([&] { return world.registry.find(kKey) == nullptr; });
}

// slurmd of 22.05 leaves out the prolog of a requeued job whose earlier life it remembers.
TEST_CASE("a requeued job that no prolog announces is staged by the plan, as slurmctld says") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const auto announcement = RegistryWorld::announcement();
    SECTION("it is the same job") {
        world.set_up_requeued(announcement);
        world.world.run_until([&] {
            const Stage* stage = world.registry.find(kRequeued);
            return stage != nullptr && stage->is_announced();
        });
    }
    SECTION("another user, whatever the first node says, has nothing staged here") {
        StageRequest forged = announcement;
        forged.uid = 0;
        world.set_up_requeued(forged);
        CHECK_THAT(world.next<FailedMessage>().failures.at(0).sentence,
                   Catch::Contains("has not announced the job"));
        CHECK_FALSE(world.registry.find(kRequeued)->is_announced());
    }
}

TEST_CASE("a job that a step announces is of the life that slurmctld tells") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    StageRequest late = RegistryWorld::announcement();
    late.is_late = true;
    world.ask(late);
    world.world.run_until([&] { return world.registry.find(kRequeued) != nullptr; });
    CHECK(world.registry.find(kKey) == nullptr);
}

TEST_CASE("while the files of a job's last run go, its next one does not hear of them") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.store(VerdictState::ok, "");
    const QueryRequest query{{.job_id = kKey.job_id, .restart = kLatestLife}};
    CHECK(world.ask(query)->state == VerdictState::ok);
    world.registry.on_request(EndRequest{.job_id = kKey.job_id}, [](const auto&) {});
    CHECK(world.ask(query)->state == VerdictState::unknown);
}

TEST_CASE("a stage that waits for the files of the job's last run to go is announced") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    const EndRequest end{.job_id = kKey.job_id, .step_id = kWholeJob};
    world.registry.on_request(end, [](const auto&) {});
    CHECK(world.registry.tell(kKey).word == TellWord::unannounced);
    world.registry.on_request(RegistryWorld::announcement(), [](const auto&) {});
    CHECK(world.registry.find(kKey) == nullptr);
    CHECK(world.registry.tell(kKey).word == TellWord::queued);
}

TEST_CASE("of a settled stage that nobody announces only the verdict is left") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.set_up({GroupVerdict{VerdictState::failed, Blame::user, "node n0: why"}});
    world.next<SettledMessage>();
    world.hang_up();
    world.world.run_until([&] { return world.registry.find(kKey) == nullptr; });
    CHECK(world.ask(QueryRequest{kKey})->sentence == "node n0: why");
    SECTION("a plugin that comes late is answered, and the verdict is stored") {
        CHECK(world.ask(RegistryWorld::announcement())->sentence == "node n0: why");
        CHECK(world.world.services->verdicts.load(kKey)->sentence == "node n0: why");
    }
    SECTION("another SETUP is answered by it") {
        world.set_up();
        CHECK(world.next<FailedMessage>().failures.at(0).sentence == "why");
    }
    SECTION("the job's end takes it") {
        world.ask(EndRequest{.job_id = kKey.job_id, .step_id = kWholeJob});
        CHECK(world.ask(QueryRequest{kKey})->sentence.empty());
    }
}

TEST_CASE("jobs of one first node do not hold all that a node holds unannounced") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    std::uint32_t job = 100;
    const auto may_hold = [&](const std::string& first_node) {
        world.set_up_as(first_node, ++job);
        const StageKey key{.job_id = job, .step_id = kWholeJob, .restart = 0};
        world.world.run_until(
            [&] { return world.registry.find(key) != nullptr || world.has_failed(); });
        return world.registry.find(key) != nullptr;
    };
    std::size_t held = 0;
    while (held < kMaxHeld && may_hold("n0")) {
        ++held;
    }
    CHECK(held == kMaxHeld / 2);
    CHECK(may_hold("n7"));
}

}  // namespace stage
