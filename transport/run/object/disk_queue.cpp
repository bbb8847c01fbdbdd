#include "transport/run/object/disk_queue.h"

#include "transport/base/invariant.h"

#include <sys/eventfd.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace stage {

namespace {

/// A block of 1 MiB takes as long on a link of 4 Gbit/s.
constexpr auto kTryWaitingEvery = std::chrono::milliseconds{2};

}  // namespace

DiskQueue::DiskQueue(ObjectIo& object, std::size_t deferred_max)
    : object_{object},
      event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      jobs_{deferred_max},
      thread_{[this] { work(); }} {
    invariant(static_cast<bool>(event_), "the kernel gives an eventfd");
}

/// What is queued but not begun is dropped; what is under way is waited for.
DiskQueue::~DiskQueue() {
    const std::lock_guard lock{mutex_};
    jobs_.stop();
    wake_.notify_one();
}

std::optional<core::Completion> DiskQueue::submit(const core::Operation& operation,
                                                  MutableBytes buffer) {
    if (auto done = verify_at_once(operation, buffer)) {
        return done;
    }
    {
        const std::lock_guard lock{mutex_};
        jobs_.add({.operation = operation, .buffer = buffer});
    }
    wake_.notify_one();
    return std::nullopt;
}

std::vector<core::Completion> DiskQueue::take() {
    const std::lock_guard lock{mutex_};
    std::vector<core::Completion> completions = jobs_.take();
    if (!completions.empty()) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
    }
    return completions;
}

bool DiskQueue::is_waiting() {
    const std::lock_guard lock{mutex_};
    return jobs_.is_waiting();
}

/// What waits for another session is tried again every few moments, whatever else there is.
void DiskQueue::await_job(std::unique_lock<std::mutex>& lock) {
    const auto has_one = [this] { return jobs_.has_next() || jobs_.is_stopped(); };
    while (true) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= try_at_) {
            jobs_.try_waiting();
            try_at_ = now + kTryWaitingEvery;
        }
        if (has_one()) {
            return;
        }
        if (jobs_.has_waiting()) {
            wake_.wait_until(lock, try_at_, has_one);
        } else {
            wake_.wait(lock, has_one);
        }
    }
}

void DiskQueue::work() {
    std::unique_lock lock{mutex_};
    while (true) {
        await_job(lock);
        if (jobs_.is_stopped()) {
            return;
        }
        const DiskJob job = jobs_.next();
        lock.unlock();
        Performed performed = object_.perform(job.operation, job.buffer);
        lock.lock();
        if (jobs_.performed(std::move(performed))) {
            const std::uint64_t one = 1;
            [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
        }
    }
}

}  // namespace stage
