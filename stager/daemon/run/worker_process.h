// How does the daemon hold a worker?
//
// Its socket and its process. What comes from it is the user's word: bounded and decoded, or
// the worker is killed. Whoever drops this kills what is left.
#pragma once

#include "stager/daemon/base/child_output.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/messages/untrusted_fd.h"
#include "stager/messages/worker_setup.h"

#include <functional>
#include <memory>

namespace stage {

struct WorkerOrder {
    ProgramRequest program;
    /// From kWorkerGroupFd on; borrowed for the call. None where nothing is broadcast.
    std::vector<int> sockets{};
    std::string stage{};  ///< As its output is named in the log.
    CloserPtr closer{};   ///< Of its user, of what it sends.
};

class WorkerProcess {
    struct Around {  ///< What it lives on. Nobody else can name one.
        Loop& loop;
        Children& children;
        Counters& counters;
    };

  public:
    struct Events {
        std::function<void()> on_started;
        /// `file`: what came beside a KEEP.
        std::function<void(FromWorker, UntrustedFd file)> on_message;
        /// The process is gone; comes once. `why` is "killed by SIGKILL" or why it never ran.
        std::function<void(const std::string& why)> on_ended;
    };

    /// Callbacks come from the loop, and may destroy it.
    static Result<std::unique_ptr<WorkerProcess>> start(Loop& loop,
                                                        Children& children,
                                                        Counters& counters,
                                                        const Logger& log,
                                                        const WorkerOrder& order,
                                                        Events events);
    WorkerProcess(Around around, CloserPtr closer, Events events);
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;
    ~WorkerProcess();

    /// One that does not take what it is told is killed.
    /// `file`: a descriptor to go with it, borrowed.
    void send(const ToWorker& message, int file = -1);
    /// SIGKILL, if it has not left by itself before.
    void kill_after(Duration patience);

  private:
    void on_event(const SpawnEvent& event);
    void on_readable();
    void take_messages(int most);
    [[nodiscard]] bool may_bring_file(const FromWorker& message);
    [[nodiscard]] bool may_say(const FromWorker& message);
    void hang_up();
    void kill();

    Loop& loop_;
    Children& children_;
    Events events_;
    UniqueFd socket_;
    std::unique_ptr<ChildOutput> output_;
    CloserPtr closer_;
    SpawnId id_ = 0;
    pid_t pid_ = -1;
    std::size_t files_ = 0;  ///< Descriptors that it has sent.
    int outcomes_ = 0;
    int messages_left_;       ///< That it may send now.
    Instant messages_since_;  ///< When it had as many.
    bool doomed_ = false;     ///< To be killed as soon as it has a process id.
    bool ended_ = false;
    Alarm kill_alarm_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
