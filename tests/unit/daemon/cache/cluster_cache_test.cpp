// Tests how a node finds a file that another node has.
#include "stager/daemon/cache/cluster_cache.h"

#include "stager/cache/lease_server_choice.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>

#include <algorithm>

namespace stage {
namespace {

const SlurmNode kSelf{.name = "n0", .address = "127.0.0.1"};
const SlurmNode kOther{.name = "n3", .address = "127.0.0.1"};

/// A file whose lease server is the other node.
LeasedFile file_of_other() {
    LeasedFile file{.uid = 2001, .stamp = {}};
    while (lease_server_of({kSelf.name, kOther.name}, file) != 1) {
        file.stamp[0] = static_cast<std::byte>(std::to_integer<unsigned>(file.stamp[0]) + 1);
    }
    return file;
}

/// Another node, which keeps the lease, holds the file, and says FOUND as a test wants it.
class Holder {
  public:
    explicit Holder(ServicesWorld& world) : world_{world} {
        policy_.node_name = kOther.name;
        auto opened = Listener::open(0, policy_, world.munge, log_);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        world.config.port = listener_->port();
        REQUIRE(world.loop().watch(listener_->fd(), EPOLLIN, [this](auto) { on_connect(); }));
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { world_.loop().forget(listener_->fd()); }

    FoundMessage answer;
    std::vector<TreeMessage> said;  ///< To it, but for pulses.
    template <class Message>
    [[nodiscard]] std::size_t heard() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            said, [](const auto& one) { return std::holds_alternative<Message>(one); }));
    }

  private:
    void on_connect() {
        for (auto& link : listener_->accept(world_.loop().now())) {
            const std::size_t at = peers_.size();
            peers_.push_back(std::make_unique<DrivenLink>(
                world_.loop(), std::move(link), [this, at] { on_change(*peers_[at]); }));
        }
    }
    void on_change(DrivenLink& link) {
        while (const auto frame = link.link().receive()) {
            const auto message = decode_tree_message(*frame);
            REQUIRE(message);
            if (std::holds_alternative<LeaseMessage>(*message)) {
                link.send(encode(TreeMessage{
                    LeasedMessage{.node = kOther.name, .address = kOther.address}}));
            } else if (std::holds_alternative<FetchMessage>(*message)) {
                link.send(encode(TreeMessage{answer}));
            }
            if (!std::holds_alternative<PulseMessage>(*message)) {
                said.push_back(*message);
            }
        }
    }

    ServicesWorld& world_;
    LinkPolicy policy_;
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    std::vector<std::unique_ptr<DrivenLink>> peers_;
};

}  // namespace

TEST_CASE("a holder that is busy is asked again, and not called one that has nothing",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world;
    Holder holder{world};
    const LeasedFile file = file_of_other();
    {
        ClusterCache peers{
            world.services->basics, world.services->dialer, world.services->cache};
        peers.know({kSelf, kOther});
        holder.answer.content.key[0] = std::byte{7};  // Not now.
        peers.ask(file, true);
        world.run_until([&] { return holder.heard<FetchMessage>() == 2; });
        CHECK(holder.heard<HeldMessage>() == 0);
        holder.answer = {};  // It has gone.
        world.run_until([&] { return holder.heard<HeldMessage>() == 1; });
        CHECK(holder.heard<FetchMessage>() == 3);
    }
}

}  // namespace stage
