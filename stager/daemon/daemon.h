// What is a running stagecastd made of?
//
// Its parts in the order in which they are made; they go in the reverse one.
#pragma once

#include "stager/daemon/cluster_cache.h"
#include "stager/daemon/control_server.h"
#include "stager/daemon/data_ports.h"
#include "stager/daemon/examiner.h"
#include "stager/daemon/far_report.h"
#include "stager/daemon/incoming.h"
#include "stager/daemon/lease_keeper.h"
#include "stager/daemon/lender.h"
#include "stager/daemon/metrics.h"
#include "stager/daemon/munge_driver.h"
#include "stager/daemon/push_permits.h"
#include "stager/daemon/pushes.h"
#include "stager/daemon/registry.h"
#include "stager/daemon/services.h"
#include "stager/daemon/stage_places.h"
#include "stager/worker/stranger_fd.h"

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
    Status open_doors();
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
    std::optional<LeaseKeeper> lease_keeper_;
    std::optional<Lender> lender_;
    std::optional<Registry> registry_;
    std::optional<FarReports> far_reports_;
    std::optional<MetricsFile> metrics_;
    std::optional<Examiner> examiner_;
    std::optional<Pushes> pushes_;
    std::unique_ptr<Incoming> incoming_;
    std::unique_ptr<ControlServer> control_;
};

}  // namespace stage
