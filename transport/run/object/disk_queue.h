// Performs a core's disk operations on one thread, so that the core never waits for the disk.
//
// Jobs enter through a queue that the core's resident blocks bound (one for each block, and
// finish). Completions return with an event to poll for.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/object/disk.h"
#include "transport/run/object/disk_work.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace stage {

class DiskQueue final : public Disk {
  public:
    /// `object` must outlive this, and is called from the queue's thread only. `deferred_max`:
    /// as DiskWork has it.
    DiskQueue(ObjectIo& object, std::size_t deferred_max);
    ~DiskQueue() override;
    DiskQueue(const DiskQueue&) = delete;
    DiskQueue& operator=(const DiskQueue&) = delete;

    /// Small blocks are verified at once.
    std::optional<core::Completion> submit(const core::Operation& operation,
                                           MutableBytes buffer) override;
    [[nodiscard]] int event_fd() const override { return event_.get(); }
    [[nodiscard]] std::vector<core::Completion> take() override;
    /// Operations submitted whose completions were not taken.
    [[nodiscard]] std::size_t under_way() const { return under_way_; }

  private:
    void work(const std::stop_token& stop);
    void complete(core::Completion completion);

    std::size_t under_way_ = 0;  ///< For the owner's thread only.
    DiskWork work_;              ///< For the disk thread only.
    UniqueFd event_;
    /// Guards the two queues below, and that event_ is readable while done_ is not empty. Not
    /// held during disk operations.
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<DiskJob> jobs_;
    std::vector<core::Completion> done_;
    std::jthread thread_;  ///< Last, because it uses the members above.
};

}  // namespace stage
