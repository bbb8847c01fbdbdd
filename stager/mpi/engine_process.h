// Starts stagecast-worker for one call, and exchanges messages with it.
//
// It is started by posix_spawn(), which neither copies the process's memory nor runs the
// handlers by which MPI libraries object to fork(). It inherits the environment and the working
// directory; its signals are the default ones.
#pragma once

#include "stager/mpi/messages/call_message.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

namespace stage {

class EngineProcess {
  public:
    /// STAGECAST_WORKER names another program than the installed one. Fails if it cannot be
    /// executed.
    [[nodiscard]] static Result<EngineProcess> start();

    EngineProcess(EngineProcess&& other) noexcept;
    EngineProcess& operator=(EngineProcess&&) = delete;
    EngineProcess(const EngineProcess&) = delete;
    EngineProcess& operator=(const EngineProcess&) = delete;
    /// Ends it, and waits for its end.
    ~EngineProcess();

    /// If it has ended hear() says so.
    void say(const CallMessage& message) const;
    /// Waits for its next message. If it ended without one the result is a CallEnd that says
    /// how.
    [[nodiscard]] CallMessage hear();

  private:
    EngineProcess(UniqueFd socket, pid_t process)
        : socket_{std::move(socket)}, process_{process} {}

    [[nodiscard]] std::string how_it_ended();

    UniqueFd socket_;
    pid_t process_ = -1;  ///< -1: waited for.
};

}  // namespace stage
