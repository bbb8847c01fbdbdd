// Who waits for the disk?
//
// One thread, so that the core's never does. Jobs go in through a queue that the core's
// resident blocks bound (one job a block, and the finish), completions come back with an event
// to poll for. A store whose place isn't known yet is tried again after each one that was
// placed; more of these than `deferred_max` and the newest are given back as bad, to be fetched
// again later.
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

    /// `buffer` stays untouched by others until the operation's completion was taken.
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
    std::size_t under_way_ = 0;  ///< The owner's thread only.
    std::deque<Job> deferred_;   ///< The disk thread only.
    UniqueFd event_;
    /// Guards the two queues below, and that event_ is readable while done_ is not empty; never
    /// held over a disk's work.
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Job> jobs_;
    std::vector<core::Completion> done_;
    std::jthread thread_;  ///< Last: it uses all of the above.
};

}  // namespace stage
