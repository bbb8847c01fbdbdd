// Closes the connections of local users in a child process.
//
// Any user can put descriptors into a Unix socket. What was not read is closed with the
// socket, by the process that closes it last, which then waits as long as that user likes: for
// a TCP connection that lingers, or for the server of a FUSE file system. The daemon has one
// thread, so it hands such sockets to a child and kills the child: a killed process waits for
// neither.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/spawn/spawner.h"
#include "transport/base/log.h"
#include "transport/os/unique_fd.h"

#include <sys/types.h>

#include <deque>

namespace stage {

class Children;

class ClosingProcess {
  public:
    /// `role` is run_closing_process() among the spawner's. All arguments outlive the object.
    ClosingProcess(Loop& loop, Children& children, const Logger& log, std::uint32_t role);
    ClosingProcess(const ClosingProcess&) = delete;
    ClosingProcess& operator=(const ClosingProcess&) = delete;
    /// Sockets that wait stay open until the daemon's process ends.
    ~ClosingProcess();

    /// Closes the socket soon, without waiting. It must have been received from no one, must
    /// not be watched, and no other descriptor in this process may refer to it.
    void close(UniqueFd socket);

  private:
    void start();
    void on_event(const SpawnEvent& event);
    void hand_over();
    void on_time();
    void go_on();

    Loop& loop_;
    Children& children_;
    const Logger& log_;
    std::uint32_t role_;
    std::deque<UniqueFd> waiting_;
    bool is_busy_ = false;  ///< A child was asked for, and has not ended.
    SpawnId child_ = 0;     ///< The last one.
    UniqueFd to_child_;     ///< Until the child is killed.
    Alarm alarm_;
};

/// The child's work: waits until it is killed. It must not end before: the spawner closes its
/// copy of `fd` a little later than the child starts, and the last to close it closes what is
/// in it.
[[noreturn]] int run_closing_process(int fd);

}  // namespace stage
