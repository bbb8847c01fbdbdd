// Answers as another node's daemon, for tests of parts that ask one.
#pragma once

#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"
#include "stager/link/listener.h"
#include "tests/unit/daemon/services_world.h"

#include <sys/epoll.h>

#include <memory>
#include <optional>
#include <vector>

namespace stage {

/// Another node's daemon, which answers every frame with the same ones, all at once.
class FalseNode {
  public:
    /// `cluster`: its cluster, if that is another one.
    FalseNode(ServicesWorld& world,
              std::vector<TreeMessage> answers,
              const std::string& cluster = {})
        : world_{world}, answers_{std::move(answers)} {
        policy_.node_name = "n3";
        policy_.cluster_name = cluster;
        auto opened = Listener::open(0, policy_, world.munge, log_);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        REQUIRE(world.loop().watch(listener_->fd(), EPOLLIN, [this](auto) { on_connect(); }));
    }
    FalseNode(const FalseNode&) = delete;
    FalseNode& operator=(const FalseNode&) = delete;
    ~FalseNode() { world_.loop().forget(listener_->fd()); }

    [[nodiscard]] std::uint16_t port() const { return listener_->port(); }

  private:
    void on_connect() {
        for (auto& link : listener_->accept(world_.loop().now())) {
            driven_ = std::make_unique<DrivenLink>(world_.loop(), std::move(link), [] {});
            driven_->set_on_change([this] { on_change(); });
        }
    }
    void on_change() {
        if (driven_->link().receive()) {
            for (const TreeMessage& answer : answers_) {
                // Not by DrivenLink::send(), which would write each by itself.
                REQUIRE(driven_->link().send(encode(answer)));
            }
            driven_->finish();
        }
    }

    ServicesWorld& world_;
    std::vector<TreeMessage> answers_;
    LinkPolicy policy_;
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    std::unique_ptr<DrivenLink> driven_;
};

}  // namespace stage
