#include "transport/run/object/disk_queue.h"

#include "transport/base/invariant.h"

#include <sys/eventfd.h>

#include <utility>

namespace stage {

DiskQueue::DiskQueue(ObjectIo& object, std::size_t deferred_max)
    : work_{object, deferred_max, [this](core::Completion done) { complete(std::move(done)); }},
      event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      thread_{[this](const std::stop_token& stop) { work(stop); }} {
    invariant(static_cast<bool>(event_), "the kernel gives an eventfd");
}

/// What is queued but not begun is dropped; what is under way is waited for.
DiskQueue::~DiskQueue() = default;

std::optional<core::Completion> DiskQueue::submit(const core::Operation& operation,
                                                  MutableBytes buffer) {
    if (auto done = verify_at_once(operation, buffer)) {
        return done;
    }
    ++under_way_;
    {
        const std::lock_guard lock{mutex_};
        jobs_.push_back({.operation = operation, .buffer = buffer});
    }
    wake_.notify_one();
    return std::nullopt;
}

std::vector<core::Completion> DiskQueue::take() {
    std::vector<core::Completion> completions;
    {
        const std::lock_guard lock{mutex_};
        if (done_.empty()) {
            return completions;
        }
        completions.swap(done_);
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
    }
    under_way_ -= completions.size();
    return completions;
}

void DiskQueue::work(const std::stop_token& stop) {
    while (true) {
        DiskJob job;
        {
            std::unique_lock lock{mutex_};
            if (!wake_.wait(lock, stop, [this] { return !jobs_.empty(); }) ||
                stop.stop_requested()) {
                return;
            }
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        work_.perform(job);
    }
}

void DiskQueue::complete(core::Completion completion) {
    const std::lock_guard lock{mutex_};
    done_.push_back(std::move(completion));
    if (done_.size() == 1) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
    }
}

}  // namespace stage
