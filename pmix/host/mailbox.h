// How does a call from PMIx' progress thread wait for the host's thread?
//
// In a queue whose descriptor becomes readable. Bounded by construction: a worker has at most a
// few calls under way (kMaxCalls are served, PMIx keeps the worker waiting for the rest), a
// pulse is asked one at a time. Beyond kMaxWaiting the caller is told no.
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

    /// Readable while something waits.
    [[nodiscard]] int fd() const { return event_.get(); }
    /// From any thread. False: full, nothing was kept.
    [[nodiscard]] bool post(Upcall upcall);
    /// All that wait, in order.
    [[nodiscard]] std::deque<Upcall> take();

  private:
    UniqueFd event_;
    std::mutex mutex_;
    std::deque<Upcall> waiting_;
};

}  // namespace stage::pmix_host
