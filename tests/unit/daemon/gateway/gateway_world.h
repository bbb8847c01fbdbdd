// Shared by tests of what a gateway is asked by a daemon of another cluster. As root.
#pragma once

#include "stager/daemon/stage/push_stages.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <sys/epoll.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stage {

/// Counts the stages that are begun, and begins none.
class NoStages final : public PushStages {
  public:
    void push(const StageKey& /*key*/,
              const StagePlan& /*plan*/,
              const std::optional<RunPassage>& /*passage*/,
              Stage::OnVerdict /*on_verdict*/) override {
        ++begun;
    }
    Stage* find(const StageKey& /*key*/) override { return nullptr; }

    int begun = 0;
};

/// A gateway, node n0 of cluster a, without a worker program; and the daemon of b's node n3.
class GatewayWorld {
  public:
    /// Takes the first message of a link and the link.
    using OnFirst = std::function<void(TreeMessage, std::unique_ptr<DrivenLink>)>;

    GatewayWorld() {
        world.config.cluster_name = "a";
        world.config.enabled = true;
        world.config.stage_root = world.scratch.path();
        own_.node_name = "n0";
        own_.cluster_name = "a";
        theirs_.node_name = "n3";
        theirs_.cluster_name = "b";
        auto opened = Listener::open(0, own_, world.munge, log);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        REQUIRE(world.loop().watch(listener_->fd(), EPOLLIN, [this](auto) { on_connect(); }));
    }
    ~GatewayWorld() { world.loop().forget(listener_->fd()); }
    GatewayWorld(const GatewayWorld&) = delete;
    GatewayWorld& operator=(const GatewayWorld&) = delete;

    /// What n3 hears until the connection ends.
    std::vector<TreeMessage> heard(const std::vector<TreeMessage>& said) {
        std::vector<TreeMessage> all;
        const auto address = Address::parse("127.0.0.1", listener_->port());
        REQUIRE(address);
        DrivenLink link{
            world.loop(),
            Link::connect(theirs_, world.munge, "a/n0", *address, world.loop().now()),
            [] {}};
        for (const TreeMessage& message : said) {
            link.send(encode(message));
        }
        world.run_until([&] {
            while (const auto frame = link.link().receive()) {
                auto message = decode_tree_message(*frame);
                REQUIRE(message);
                all.push_back(*std::move(message));
            }
            return link.link().state() == Link::State::closed;
        });
        return all;
    }

    ServicesWorld world;
    NoStages stages;
    OnFirst on_first;
    Logger log{[](LogLevel, std::string_view) {}, LogLevel::error};

  private:
    void on_connect() {
        for (auto& link : listener_->accept(world.loop().now())) {
            pending_ = std::make_unique<DrivenLink>(world.loop(), std::move(link), [] {});
            pending_->set_on_change([this] { on_change(); });
        }
    }
    void on_change() {
        const auto frame = pending_ ? pending_->link().receive() : std::nullopt;
        if (frame) {
            auto message = decode_tree_message(*frame);
            REQUIRE(message);
            on_first(*std::move(message), std::move(pending_));
        }
    }

    LinkPolicy own_;
    LinkPolicy theirs_;
    std::optional<Listener> listener_;
    std::unique_ptr<DrivenLink> pending_;
};

}  // namespace stage
