// Shared by tests of parts of the daemon: its loop, its spawner and all that its stages
// borrow, without munge, PMIx or Slurm. As root.
#pragma once

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/legs/leg_permits.h"
#include "stager/daemon/planning/stage_places.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/run/host_directories.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/tree/link_dialer.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/link/link_world.h"

#include <fcntl.h>

#include <optional>

namespace stage {

class ServicesWorld {
  public:
    /// `roles` by number, as in services.h.
    explicit ServicesWorld(std::vector<SpawnRole> roles = {}) {
        config.run_dir = scratch.path("run");
        config.libexec_dir = scratch.path("libexec");
        config.data_port_range = {.first = 6830, .last = 6893};
        config.connect_timeout = std::chrono::seconds{5};
        config.stage_timeout = std::chrono::seconds{60};
        links.node_name = "n0";
        auto spawner = Spawner::fork({.roles = std::move(roles), .cgroup = {}});
        auto opened = Loop::open();
        REQUIRE(spawner);
        REQUIRE(opened);
        loop_.emplace(std::move(*opened));
        auto children = Children::open(*loop_, std::move(*spawner), [](const Error&) {});
        auto verdicts = VerdictStore::open(scratch.path("verdicts"));
        REQUIRE(children);
        REQUIRE(verdicts);
        children_ = std::move(*children);
        verdicts_.emplace(std::move(*verdicts));
        host_directories_.emplace(*loop_,
                                  *children_,
                                  log_,
                                  open_scratch(),
                                  scratch.path(),
                                  HostDirectories::Pauses{});
        hosts_.emplace(
            *loop_,
            *children_,
            log_,
            HostPlace{.program = scratch.path("pmix-host"), .directories = *host_directories_},
            0U);
        basics_.emplace(Basics{.loop = *loop_,
                               .log = log_,
                               .config = config,
                               .counters = counters_,
                               .children = *children_});
        cache_.emplace(*basics_, 0U);
        loop_->before_wait([this] { munge.answer(); });
        dialer_.emplace(*loop_, config, links, munge);
        services.emplace(Services{.basics = *basics_,
                                  .hosts = *hosts_,
                                  .verdicts = *verdicts_,
                                  .links = links,
                                  .dialer = *dialer_,
                                  .cache = *cache_,
                                  .closers = closers_,
                                  .places = places_,
                                  .push_permits = permits_,
                                  .leg_permits = leg_permits_,
                                  .ports = ports_});
    }
    ServicesWorld(const ServicesWorld&) = delete;
    ServicesWorld& operator=(const ServicesWorld&) = delete;
    ~ServicesWorld() = default;

    Loop& loop() { return *loop_; }

    void run_until(const std::function<bool()>& done) { stage::run_until(*loop_, done); }

    test::Scratch scratch;
    Config config;
    LinkPolicy links;
    FalseMunge munge;

  private:
    UniqueFd open_scratch() const {
        return UniqueFd{::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    }

    Logger log_{[](LogLevel, std::string_view) {}, LogLevel::error};
    Counters counters_;
    std::optional<Loop> loop_;
    std::unique_ptr<Children> children_;
    std::optional<Basics> basics_;
    std::optional<VerdictStore> verdicts_;
    std::optional<HostDirectories> host_directories_;
    std::optional<HostPool> hosts_;
    std::optional<NodeCache> cache_;
    UserClosers closers_;
    StagePlaces places_;
    PushPermits permits_;
    LegPermits leg_permits_;
    DataPorts ports_;
    std::optional<LinkDialer> dialer_;

  public:
    std::optional<Services> services;  ///< All members above.
};

}  // namespace stage
