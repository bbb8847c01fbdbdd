// What is a running stagecastd made of?
//
// Its parts in the order in which they are made; they go in the reverse one.
#pragma once

#include "stager/daemon/control_server.h"
#include "stager/daemon/incoming.h"
#include "stager/daemon/munge_driver.h"
#include "stager/daemon/registry.h"
#include "stager/daemon/services.h"

#include <memory>
#include <optional>

namespace stage {

class Daemon {
    struct Token {};  ///< Only open() and the like make one.

  public:
    /// `config` and `log` outlive it. Fails with a sentence for the operator.
    static Result<std::unique_ptr<Daemon>> make(const Config& config,
                                                const Logger& log,
                                                Spawner spawner);
    Daemon(Token token, const Config& config, const Logger& log, Loop loop);
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
    void log_counters() const;

    const Config& config_;
    const Logger& log_;
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
    std::optional<Services> services_;
    std::optional<Registry> registry_;
    std::unique_ptr<Incoming> incoming_;
    std::unique_ptr<ControlServer> control_;
};

}  // namespace stage
