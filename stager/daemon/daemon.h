// What is a running stagecastd made of?
//
// Its parts in the order in which they are made; they go in the reverse one.
#pragma once

#include "stager/daemon/base/munge_driver.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/cache/cache_server.h"
#include "stager/daemon/cache/cluster_cache.h"
#include "stager/daemon/cache/lease_server.h"
#include "stager/daemon/control_server.h"
#include "stager/daemon/incoming.h"
#include "stager/daemon/metrics.h"
#include "stager/daemon/push/preflight_server.h"
#include "stager/daemon/push/pushes.h"
#include "stager/daemon/remote_status.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/stage/registry.h"
#include "stager/daemon/stage/stage_places.h"
#include "stager/messages/untrusted_fd.h"

#include <functional>
#include <memory>
#include <optional>

namespace stage {

class Daemon {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using ReadConfig = std::function<Result<Config>()>;

    /// `log` outlives it; `read_config` reads the configuration again. Fails with a sentence
    /// for the operator.
    static Result<std::unique_ptr<Daemon>> make(Config config,
                                                Logger& log,
                                                Spawner spawner,
                                                ReadConfig read_config);
    Daemon(Token token, Config config, Logger& log, ReadConfig read_config, Loop loop);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon();

    /// Until SIGTERM or SIGINT. The exit status.
    int run();

  private:
    Status open(Spawner spawner);
    Status open_children(Spawner spawner);
    Status open_listeners();
    Status watch_signals();
    void on_signal();
    void stop();
    void reread();
    void log_counters();
    void refresh_counters();
    void hold_ports();
    void on_request(ControlServer::ConnectionId id, const Request& request);
    void on_status(std::uint32_t uid,
                   const StatusRequest& request,
                   const std::function<void(const Answer&)>& answer);

    Config config_;  ///< Everybody's, by reference: what is reread is in force for all.
    Logger& log_;
    ReadConfig read_config_;
    Loop loop_;
    Counters counters_;
    LinkPolicy links_;
    int exit_status_ = 0;
    bool stopping_ = false;
    UniqueFd signals_;
    UniqueFd lock_;
    std::unique_ptr<Children> children_;
    std::optional<VerdictStore> verdicts_;
    std::unique_ptr<HostPool> hosts_;
    std::optional<MungeDriver> munge_;
    std::optional<NodeCache> cache_;
    UserClosers closers_;
    StagePlaces places_;
    PushPermits push_permits_;
    DataPorts ports_;
    std::optional<Services> services_;
    std::optional<ClusterCache> cluster_cache_;
    std::optional<LeaseServer> lease_keeper_;
    std::optional<CacheServer> lender_;
    std::optional<Registry> registry_;
    std::optional<RemoteStatuses> far_reports_;
    std::optional<MetricsFile> metrics_;
    std::optional<PreflightServer> examiner_;
    std::optional<Pushes> pushes_;
    std::unique_ptr<Incoming> incoming_;
    std::unique_ptr<ControlServer> control_;
};

}  // namespace stage
