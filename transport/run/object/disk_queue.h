// Performs a core's disk operations on one thread, so that the core never waits for the disk.
//
// Jobs enter through a queue that the core's resident blocks bound (one for each block, and
// finish). Completions return with an event to poll for. A store whose place is not known yet
// is tried again after each block that was placed. If more than `deferred_max` of these wait,
// the newest are returned as bad, to be requested again later.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/object/object_io.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace stage {

class DiskQueue {
  public:
    /// `object` must outlive this, and is called from the queue's thread only.
    DiskQueue(ObjectIo& object, std::size_t deferred_max);
    ~DiskQueue();
    DiskQueue(const DiskQueue&) = delete;
    DiskQueue& operator=(const DiskQueue&) = delete;

    /// The caller must not touch `buffer` until the operation's completion was taken.
    void submit(const core::Operation& operation, MutableBytes buffer);

    /// Readable while there are completions to take.
    [[nodiscard]] int event_fd() const { return event_.get(); }
    [[nodiscard]] std::vector<core::Completion> take();
    /// Operations submitted whose completions were not taken.
    [[nodiscard]] std::size_t under_way() const { return under_way_; }

  private:
    struct Job {
        core::Operation operation;
        MutableBytes buffer;
    };

    void work(const std::stop_token& stop);
    void perform(const Job& job);
    void retry_deferred();
    void complete(core::Completion completion);

    ObjectIo& object_;
    std::size_t deferred_max_;
    std::size_t under_way_ = 0;  ///< For the owner's thread only.
    std::deque<Job> deferred_;   ///< For the disk thread only.
    UniqueFd event_;
    /// Guards the two queues below, and that event_ is readable while done_ is not empty. Not
    /// held during disk operations.
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Job> jobs_;
    std::vector<core::Completion> done_;
    std::jthread thread_;  ///< Last, because it uses the members above.
};

}  // namespace stage
