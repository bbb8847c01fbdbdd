// Owns a worker: its process and its socket.
//
// The worker's messages are under the user's control: they are decoded with limits, and a
// worker that violates these is killed. Destroying the object kills the process.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/child_output.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/messages/untrusted_fd.h"
#include "stager/messages/worker_setup.h"

#include <functional>
#include <memory>

namespace stage {

struct WorkerOrder {
    ProgramRequest program;
    /// From kWorkerEndpointsFd on; borrowed for the call. Empty without a broadcast.
    std::vector<int> sockets{};
    std::string stage{};  ///< Names the stage in the log of its output.
    CloserPtr closer{};   ///< The user's, for the descriptors that the worker sends.
};

class WorkerProcess {
    struct Token {};  ///< Only start() makes one.

  public:
    struct Events {
        std::function<void()> on_started;
        /// `file`: the descriptor that came with the message, for instance with a KEEP.
        std::function<void(FromWorker, UntrustedFd file)> on_message;
        /// The process has ended; called once. `why`: "killed by SIGKILL", or why it never ran.
        std::function<void(const std::string& why)> on_ended;
    };

    /// The loop calls the callbacks, which may destroy the object. `basics` outlives it.
    static Result<std::unique_ptr<WorkerProcess>> start(const Basics& basics,
                                                        const WorkerOrder& order,
                                                        Events events);
    WorkerProcess(Token token, const Basics& basics, CloserPtr closer, Events events);
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;
    ~WorkerProcess();

    /// Sends a message, with the descriptor `file` (borrowed). A worker that does not read its
    /// messages is killed.
    void send(const ToWorker& message, int file = -1);
    /// Sends SIGKILL after `grace` unless the process has ended by then.
    void kill_after(Duration grace);

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
    std::size_t files_ = 0;  ///< Descriptors that the worker has sent.
    int outcomes_ = 0;
    int messages_left_;       ///< Messages that the worker may send now.
    Instant messages_since_;  ///< When messages_left_ was last increased.
    bool doomed_ = false;     ///< To be killed as soon as its process id is known.
    bool ended_ = false;
    Alarm kill_alarm_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
