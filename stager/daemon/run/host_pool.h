// Keeps spare PMIx hosts, so that a job gets one at once.
//
// SpareHosts of them are started before there is a job, because a cold start would delay every
// rank by 100 ms. A host that is taken is replaced; a start that fails is retried after a
// while. If a host can't prevent the node's other users from connecting to its listener, the
// pool starts no more hosts until the daemon is restarted, and without munge it starts none:
// stages then exchange their cards over the daemons.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/pmix_host.h"
#include "transport/base/log.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace stage {

class HostPool {
  public:
    using HostPointer = std::unique_ptr<PmixHost>;
    using OnHost = std::function<void(Result<HostPointer>)>;

    /// All that it refers to outlives it.
    HostPool(
        Loop& loop, Children& children, const Logger& log, HostPlace place, std::size_t spares);
    HostPool(const HostPool&) = delete;
    HostPool& operator=(const HostPool&) = delete;
    ~HostPool();

    /// The loop calls `on_host` later, with a host that has sent READY or an error.
    void take(OnHost on_host);
    /// False without munge, and when a host has reported that its listener can't be restricted
    /// to one user here.
    [[nodiscard]] bool can_serve() const { return refusal_.empty(); }

  private:
    struct Starting {
        HostPointer host;
        Loop::TimerId timer = 0;
    };

    void refill();
    void start_one();
    void on_ready(PmixHost* host);
    void on_failed(PmixHost* host, const std::string& why);
    void give_up();
    void serve();
    [[nodiscard]] HostPointer take_starting(PmixHost* host);

    Loop& loop_;
    Children& children_;
    const Logger& log_;
    HostPlace place_;
    std::size_t spares_ = 0;
    std::vector<Starting> starting_;
    std::deque<HostPointer> ready_;
    std::deque<OnHost> waiting_;
    Loop::TimerId retry_ = 0;
    std::string refusal_;  ///< Why the pool starts no host; empty while it does.
};

}  // namespace stage
