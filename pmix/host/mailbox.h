// A queue from PMIx' progress thread to the host's thread, with a descriptor to poll.
//
// It is bounded: a worker has only a few pending calls (kMaxCalls are served, PMIx makes the
// worker wait for the rest), and one pulse is requested at a time. Beyond kMaxWaiting a post is
// refused.
#pragma once

#include "pmix/host/upcall.h"
#include "transport/os/unique_fd.h"

#include <deque>
#include <mutex>

namespace stage::pmix_host {

class Mailbox {
  public:
    static constexpr std::size_t kMaxWaiting = 256;

    Mailbox();

    /// Readable while the queue is not empty.
    [[nodiscard]] int fd() const { return event_.get(); }
    /// Callable from any thread. False: the queue is full, and the upcall was dropped.
    [[nodiscard]] bool post(Upcall upcall);
    /// Returns all queued upcalls in order.
    [[nodiscard]] std::deque<Upcall> take();

  private:
    UniqueFd event_;
    std::mutex mutex_;
    std::deque<Upcall> waiting_;
};

}  // namespace stage::pmix_host
