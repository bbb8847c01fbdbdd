// Holds all parts of a running stagecastd.
//
// The members are destroyed in the reverse order of their construction.
#pragma once

#include "stager/daemon/ask_server.h"
#include "stager/daemon/base/closing_process.h"
#include "stager/daemon/base/munge_driver.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/cache/cache_server.h"
#include "stager/daemon/cache/cluster_cache.h"
#include "stager/daemon/cache/lease_server.h"
#include "stager/daemon/control_server.h"
#include "stager/daemon/gateway/exports.h"
#include "stager/daemon/gateway/passages.h"
#include "stager/daemon/gateway/peer_credentials.h"
#include "stager/daemon/gateway/tickets.h"
#include "stager/daemon/incoming.h"
#include "stager/daemon/legs/leg_permits.h"
#include "stager/daemon/metrics.h"
#include "stager/daemon/planning/stage_places.h"
#include "stager/daemon/push/preflight_server.h"
#include "stager/daemon/pushes.h"
#include "stager/daemon/remote_status.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/run/host_directories.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/stage/registry.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/messages/untrusted_fd.h"

#include <functional>
#include <memory>
#include <optional>

namespace stage {

class Daemon {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using ReadConfig = std::function<Result<Config>()>;

    /// `log` outlives the daemon; `read_config` reads the configuration again. An error is a
    /// message for the administrator.
    static Result<std::unique_ptr<Daemon>> make(Config config,
                                                Logger& log,
                                                Spawner spawner,
                                                ReadConfig read_config);
    Daemon(Token token, Config config, Logger& log, ReadConfig read_config, Loop loop);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon();

    /// Runs until SIGTERM or SIGINT and returns the exit status.
    int run();

  private:
    Status open(Spawner spawner);
    Status open_children(Spawner spawner, UniqueFd stage_root);
    void make_services();
    void make_credentials();
    void make_parts();
    Status open_incoming();
    Status open_control();
    Status watch_signals();
    void on_signal();
    void stop();
    void reread();
    void log_counters();
    void refresh_counters();
    void hold_ports();

    using Asker = ControlServer::ConnectionId;
    void take(Asker asker, const PushRequest& request);
    void take(Asker asker, const StatusRequest& request);
    void take(Asker asker, const PingRequest& request);
    void take(Asker asker, const TicketRequest& request);
    /// The others are about stages.
    template <class StageRequestKind>
    void take(Asker asker, const StageRequestKind& request) {
        registry_->on_request(request, answer_to(asker));
    }
    [[nodiscard]] std::function<void(const Answer&)> answer_to(Asker asker);

    Config config_;  ///< All parts refer to it, so that a reload takes effect everywhere.
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
    std::optional<Basics> basics_;
    std::optional<VerdictStore> verdicts_;
    std::optional<HostDirectories> host_directories_;
    std::optional<HostPool> hosts_;
    std::optional<ClosingProcess> closing_;
    std::unique_ptr<KeyCredentials> node_key_;  ///< With AuthKeyFile=, and then there is no
    std::optional<MungeDriver> munge_;          ///< driver of munge.
    std::optional<PeerCredentials> credentials_;
    std::optional<NodeCache> cache_;
    UserClosers closers_;
    StagePlaces places_;
    PushPermits push_permits_;
    LegPermits leg_permits_;
    DataPorts ports_;
    std::optional<LinkDialer> dialer_;
    std::optional<Services> services_;
    std::optional<ClusterCache> cluster_cache_;
    std::optional<LeaseServer> lease_server_;
    std::optional<CacheServer> cache_server_;
    std::optional<Registry> registry_;
    std::optional<RemoteStatuses> remote_statuses_;
    std::optional<MetricsFile> metrics_;
    std::optional<PreflightServer> preflight_server_;
    std::optional<AskServer> ask_server_;
    std::optional<Pushes> pushes_;
    std::optional<Passages> passages_;
    std::optional<Tickets> tickets_;
    std::optional<Exports> exports_;
    std::unique_ptr<Incoming> incoming_;
    std::unique_ptr<ControlServer> control_;
};

}  // namespace stage
