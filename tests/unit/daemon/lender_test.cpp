// Does a node lend what it has, whoever else asks?
#include "stager/daemon/lender.h"

#include "stager/cache/store.h"
#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

const LeasedFile kKnown{.uid = 2001, .stamp = {std::byte{1}}};
const LeasedFile kUnknown{.uid = 2001, .stamp = {std::byte{2}}};

/// A cache with one entry, a lender, and peers that never hang up.
class LenderWorld {
  public:
    LenderWorld() {
        world.config.cache_dir = world.scratch.path("cache");
        world.config.stage_root = world.scratch.path("stage");
        world.config.cache_size = 1000;
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
        REQUIRE(store.publish(*draft, {.uid = kKnown.uid, .content = {}}));
        store.remember(kKnown.uid, kKnown.stamp, {});
        world.services->cache.open();
        auto opened = Listener::open(0, world.links, world.munge, log_);
        REQUIRE(opened);
        listener_.emplace(std::move(*opened));
        lender.emplace(*world.services);
    }

    void fetch(const LeasedFile& file) {
        lender->on_fetch({.file = file},
                         std::make_unique<DrivenLink>(world.loop(),
                                                      Link::connect(world.links,
                                                                    world.munge,
                                                                    "n1",
                                                                    loopback(listener_->port()),
                                                                    world.loop().now()),
                                                      [] {}));
    }
    /// What is lent has been used now.
    [[nodiscard]] bool was_lent() const {
        struct stat status {};
        REQUIRE(::fstat(entry_.get(), &status) == 0);
        return status.st_mtim.tv_sec != 1;
    }

    ServicesWorld world;
    std::optional<Lender> lender;

  private:
    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Listener> listener_;
    UniqueFd entry_;
};

}  // namespace

TEST_CASE(
    "who was told that there is nothing takes nobody's place, but only so many may stay") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    LenderWorld lending;
    for (std::size_t i = 0; i < 2 * kLoansMax; ++i) {
        lending.fetch(kUnknown);
    }
    CHECK_FALSE(lending.was_lent());
    lending.fetch(kKnown);
    CHECK(lending.was_lent());
    LenderWorld full;
    for (std::size_t i = 0; i < kFetchersMax; ++i) {
        full.fetch(kUnknown);
    }
    full.fetch(kKnown);
    CHECK_FALSE(full.was_lent());
}

}  // namespace stage
