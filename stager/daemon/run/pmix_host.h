// How does the daemon hold a PMIx host process?
//
// Its socket, its process, its directory. What comes from it is the user's word as soon as it
// has a job: bounded and decoded here, or the host is as good as dead. Whoever drops this drops
// the host: it is killed and its directory removed.
#pragma once

#include "pmix/host_message.h"
#include "stager/daemon/base/child_output.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "transport/os/unique_fd.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace stage {

/// Where hosts live: RUN_DIR/hosts, one directory each.
struct HostPlace {
    std::string program;    ///< LibexecDir/stagecast-pmix-host.
    std::string directory;  ///< RUN_DIR/hosts.
    int directory_fd = -1;
    UserIdentity spare{};  ///< As whom a host waits for its job.
};

class PmixHost {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using OnMessage = std::function<void(FromHost)>;
    /// It has died, said nonsense or can't be talked to: why. Nothing comes after it.
    using OnLost = std::function<void(const std::string&)>;

    /// Starts a host that nobody owns yet. `number` has not been used before.
    static Result<std::unique_ptr<PmixHost>> start(Loop& loop,
                                                   Children& children,
                                                   const Logger& log,
                                                   const HostPlace& place,
                                                   std::uint64_t number);
    PmixHost(
        Token token, Loop& loop, Children& children, const HostPlace& place, std::string name);
    PmixHost(const PmixHost&) = delete;
    PmixHost& operator=(const PmixHost&) = delete;
    ~PmixHost();

    /// From now on. Callbacks may destroy this host.
    void own(OnMessage on_message, OnLost on_lost);
    void send(const ToHost& message);

  private:
    void on_readable();
    void on_event(const SpawnEvent& event);
    void lose(const std::string& why);

    Loop& loop_;
    Children& children_;
    const HostPlace& place_;
    std::string name_;
    UniqueFd socket_;
    std::unique_ptr<ChildOutput> output_;
    SpawnId id_ = 0;
    pid_t pid_ = -1;
    bool ended_ = false;
    bool lost_ = false;
    std::uint32_t uid_ = 0;
    std::uint32_t gid_ = 0;
    OnMessage on_message_;
    OnLost on_lost_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
