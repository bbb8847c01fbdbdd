// Performs a core's disk operations on one thread, so that the core never waits for the disk.
//
// Jobs enter through a queue that the core's resident blocks bound (one for each block, and
// finish). Completions return with an event to poll for. Their order is that of disk_jobs.h.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/object/disk.h"
#include "transport/run/object/disk_jobs.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace stage {

class DiskQueue final : public Disk {
  public:
    /// `object` must outlive this, and is called from the queue's thread only. `deferred_max`:
    /// as DiskJobs has it.
    DiskQueue(ObjectIo& object, std::size_t deferred_max);
    ~DiskQueue() override;
    DiskQueue(const DiskQueue&) = delete;
    DiskQueue& operator=(const DiskQueue&) = delete;

    /// Small blocks are verified at once.
    std::optional<core::Completion> submit(const core::Operation& operation,
                                           MutableBytes buffer) override;
    [[nodiscard]] int event_fd() const override { return event_.get(); }
    [[nodiscard]] std::vector<core::Completion> take() override;
    [[nodiscard]] bool is_waiting() override;

  private:
    void await_job(std::unique_lock<std::mutex>& lock);
    void work();

    ObjectIo& object_;
    UniqueFd event_;
    /// Guards jobs_, and that event_ is readable while there is something to take. Not held
    /// during disk operations.
    std::mutex mutex_;
    std::condition_variable wake_;
    DiskJobs jobs_;
    std::chrono::steady_clock::time_point try_at_{};  ///< Read and set by the thread alone.
    std::jthread thread_;  ///< Last, because it uses the members above.
};

}  // namespace stage
