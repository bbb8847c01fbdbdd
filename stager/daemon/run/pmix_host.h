// Owns a PMIx host: its process, its socket and its directory (host_directories.h).
//
// Once the host has a job, its messages are under the user's control: they are decoded with
// limits, and a host that violates these counts as crashed. Destroying the object kills the
// host and removes its directory.
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

class HostDirectories;

/// How hosts are started.
struct HostPlace {
    std::string program;  ///< LibexecDir/stagecast-pmix-host.
    HostDirectories& directories;
    UserIdentity spare{};   ///< The user of a host that waits for its job.
    bool has_munge = true;  ///< By munge a host's server knows its client.
};

class PmixHost {
    struct Token {};  ///< Only open() and the like make one.

  public:
    using OnMessage = std::function<void(FromHost)>;
    /// The host has crashed, sent a malformed message or can't be reached. The last callback.
    using OnLost = std::function<void(const std::string&)>;

    /// Starts a host without an owner.
    static Result<std::unique_ptr<PmixHost>> start(Loop& loop,
                                                   Children& children,
                                                   const Logger& log,
                                                   const HostPlace& place);
    PmixHost(Token token,
             Loop& loop,
             Children& children,
             HostDirectories& directories,
             std::string name);
    PmixHost(const PmixHost&) = delete;
    PmixHost& operator=(const PmixHost&) = delete;
    ~PmixHost();

    /// Sets the callbacks, which may destroy the host.
    void own(OnMessage on_message, OnLost on_lost);
    void send(const ToHost& message);

  private:
    void on_readable();
    void on_event(const SpawnEvent& event);
    void lose(const std::string& why);

    Loop& loop_;
    Children& children_;
    HostDirectories& directories_;
    std::string name_;
    UniqueFd socket_;
    std::unique_ptr<ChildOutput> output_;
    SpawnId id_ = 0;
    pid_t pid_ = -1;
    bool ended_ = false;
    bool lost_ = false;
    OnMessage on_message_;
    OnLost on_lost_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
