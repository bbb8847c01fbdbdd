// One node's stages, and over a link the daemon of their first node, played by a test.
#pragma once

#include "stager/daemon/ask_server.h"
#include "stager/daemon/stage/registry.h"
#include "stager/daemon/tree/plan.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace stage {

inline constexpr StageKey kKey{.job_id = 7, .step_id = kWholeJob, .restart = 0};
inline constexpr StageKey kRequeued{.job_id = 7, .step_id = kWholeJob, .restart = 1};
inline constexpr StageKey kPush{.job_id = kPushJob, .step_id = 1, .restart = 1};

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

    /// Node n0, as if this node were the job's first, connects and says ASK.
    void question(const AskMessage& message) {
        auto link = Link::connect(
            parent_policy_, world.munge, "n1", loopback(listener_->port()), world.loop().now());
        REQUIRE(link->send(encode(message)));
        parent_ = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
        parent_->set_on_change([this] { listen(); });
    }
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
    /// Calls set_up() for the requeued job, with the request that the plugin there announced.
    void set_up_requeued(StageRequest request) {
        world.config.announce_timeout = std::chrono::milliseconds{100};
        key_ = kRequeued;
        request.key = kRequeued;
        request.node_name = "n0";
        plan_.request = std::move(request);
        set_up();
    }
    /// Calls set_up() for another job, whose first node is another one; its link stays.
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
    /// Sets up a push of these specs, by a plan that this node was not asked about.
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
    template <class Kind>
    std::optional<Verdict> ask(const Kind& request) {
        auto answer = std::make_shared<std::optional<Verdict>>();
        registry.on_request(request, [answer](const Answer& given) {
            if (const auto* verdict = std::get_if<Verdict>(&given)) {
                *answer = *verdict;
            }
        });
        return *answer;
    }
    static StageRequest announcement() {
        return {.key = kKey,
                .uid = kUnknownUid,
                .gid = kUnknownUid,
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
            accepted_ = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
            accepted_->set_on_change([this] {
                const auto frame = accepted_ ? accepted_->link().receive() : std::nullopt;
                const auto message =
                    frame ? decode_tree_message(*frame) : Result<TreeMessage>{PulseMessage{}};
                if (const auto* setup = std::get_if<SetupMessage>(&*message)) {
                    registry.on_setup(*setup, std::move(accepted_));
                } else if (const auto* question = std::get_if<AskMessage>(&*message)) {
                    ask_server_.on_ask(*question, std::move(accepted_));
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

    AskServer ask_server_{
        world.services->basics,
        world.links,
        {.tell = [this](const StageKey& key) { return registry.tell(key); },
         .has_ended = [this](std::uint32_t job_id) { return registry.has_ended(job_id); },
         .announce =
             [this](const StageRequest& request) {
                 registry.on_request(request, [](const auto&) {});
             }}};
    StageKey key_ = kKey;
    LinkPolicy parent_policy_;
    StagePlan plan_;
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    std::unique_ptr<DrivenLink> accepted_;
    std::unique_ptr<DrivenLink> parent_;
    std::vector<std::unique_ptr<DrivenLink>> others_;
    std::vector<TreeMessage> heard_;
};

}  // namespace stage
