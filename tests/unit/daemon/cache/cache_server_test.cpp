// Tests that a node sends its cached files, and only to a limited number of nodes.
#include "stager/daemon/cache/cache_server.h"

#include "stager/cache/store.h"
#include "stager/daemon/cache/node_cache.h"
#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

const LeasedFile kKnown{.uid = 2001, .stamp = {std::byte{1}}};
const LeasedFile kUnknown{.uid = 2001, .stamp = {std::byte{2}}};

/// A cache with one entry, a cache server, and peers that never close their links.
class ServerWorld {
  public:
    ServerWorld() {
        policy_.node_name = "n1";
        world.config.cache_dir = world.scratch.path("cache");
        world.config.stage_root = world.scratch.path("stage");
        world.config.cache_size = 1'000'000;
        world.config.allow_ram_stage_root = true;
        REQUIRE(::mkdir(world.config.cache_dir.c_str(), 0700) == 0);
        CacheStore store{
            UniqueFd{::open(world.config.cache_dir.c_str(), O_RDONLY | O_DIRECTORY)}};
        auto draft = store.begin();
        REQUIRE(draft);
        REQUIRE(::write(draft->file.get(), "text", 4) == 4);
        const std::array<timespec, 2> old{{{1, 0}, {1, 0}}};
        REQUIRE(::futimens(draft->file.get(), old.data()) == 0);
        entry_ = std::move(draft->file);
        REQUIRE(store.publish(*draft, {.uid = kKnown.uid, .content = content}));
        store.remember(kKnown.uid, kKnown.stamp, content);
        world.services->cache.open();
        auto opened = Listener::open(0, policy_, world.munge, log_);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        REQUIRE(world.loop().watch(listener_->fd(), EPOLLIN, [this](auto) { on_connect(); }));
        server.emplace(world.services->basics, world.services->cache);
    }

    void fetch(const LeasedFile& file) {
        server->on_fetch({.file = file},
                         std::make_unique<DrivenLink>(world.loop(),
                                                      Link::connect(world.links,
                                                                    world.munge,
                                                                    "n1",
                                                                    loopback(listener_->port()),
                                                                    world.loop().now()),
                                                      [] {}));
    }
    /// What is served has been used now.
    [[nodiscard]] bool was_served() const {
        struct stat status {};
        REQUIRE(::fstat(entry_.get(), &status) == 0);
        return status.st_mtim.tv_sec != 1;
    }

    ~ServerWorld() { world.loop().forget(listener_->fd()); }
    ServerWorld(const ServerWorld&) = delete;
    ServerWorld& operator=(const ServerWorld&) = delete;

    ServicesWorld world;
    std::optional<CacheServer> server;
    std::vector<FoundMessage> found;  ///< The answers to the peers.
    Content content{.key = {std::byte{7}}, .sum = {}};

  private:
    void on_connect() {
        for (auto& link : listener_->accept(world.loop().now())) {
            const std::size_t at = peers_.size();
            peers_.push_back(std::make_unique<DrivenLink>(
                world.loop(), std::move(link), [this, at] { on_change(at); }));
        }
    }
    void on_change(std::size_t at) {
        if (const auto frame = peers_[at]->link().receive()) {
            const auto message = decode_tree_message(*frame);
            REQUIRE(message);
            found.push_back(std::get<FoundMessage>(*message));
        }
    }

    LinkPolicy policy_;
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    UniqueFd entry_;
    std::vector<std::unique_ptr<DrivenLink>> peers_;
};

}  // namespace

TEST_CASE(
    "a node that gets no file takes no transfer's place, but only a limited number may stay",
    "[root]") {
    if (!is_root()) {
        return;
    }
    ServerWorld serving;
    for (std::size_t i = 0; i < 2 * kTransfersMax; ++i) {
        serving.fetch(kUnknown);
    }
    CHECK_FALSE(serving.was_served());
    serving.fetch(kKnown);
    CHECK(serving.was_served());
    ServerWorld full;
    for (std::size_t i = 0; i < kFetchersMax; ++i) {
        full.fetch(kUnknown);
    }
    full.fetch(kKnown);
    CHECK_FALSE(full.was_served());
}

TEST_CASE("a node that asks while too many transfers run is informed that the file is here",
          "[root]") {
    if (!is_root()) {
        return;
    }
    ServerWorld serving;
    for (std::size_t i = 0; i <= kTransfersMax; ++i) {
        serving.fetch(kKnown);
    }
    serving.fetch(kUnknown);
    serving.world.run_until([&] { return serving.found.size() == kTransfersMax + 2; });
    std::size_t served = 0;
    std::size_t busy = 0;
    for (const FoundMessage& found : serving.found) {
        served += found.bytes == 4 ? 1U : 0U;
        busy += found.bytes == 0 && found.content == serving.content ? 1U : 0U;
    }
    CHECK(served == kTransfersMax);
    CHECK(busy == 1);
}

}  // namespace stage
