// Runs a session on the calling thread, which becomes the only reader of the clock.
//
// Between two turns it waits by ppoll() for the driver, the flows' threads, the disk, the
// watcher, and the time that the session names.
#pragma once

#include "transport/run/session.h"

#include <poll.h>

#include <vector>

namespace stage {

class SessionLoop {
  public:
    /// All parts must outlive the loop.
    explicit SessionLoop(const SessionParts& parts);
    SessionLoop(const SessionLoop&) = delete;
    SessionLoop& operator=(const SessionLoop&) = delete;
    ~SessionLoop() = default;

    /// Runs until the core is over. A failure is in the core's outcome.
    void run();

  private:
    void list(const Waits& waits);
    [[nodiscard]] Readable wait(Instant now, const Waits& waits);

    SessionParts parts_;
    Session session_;
    std::vector<pollfd> listed_;
    std::size_t sockets_ = 0;  ///< The first ones listed are the driver's.
};

}  // namespace stage
