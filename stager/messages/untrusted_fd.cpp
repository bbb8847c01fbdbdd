#include "stager/messages/untrusted_fd.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kStackBytes = 256U << 10U;

/// Signals are handled by the daemon's main thread, so this thread blocks them.
bool begin_detached(void* (*work)(void*), void* argument) {
    pthread_attr_t how{};
    if (::pthread_attr_init(&how) != 0) {
        return false;
    }
    sigset_t all{};
    sigset_t before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_t thread{};
    const bool is_begun = ::pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED) == 0 &&
                          ::pthread_attr_setstacksize(&how, kStackBytes) == 0 &&
                          ::pthread_create(&thread, &how, work, argument) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&how);
    return is_begun;
}

}  // namespace

bool is_in_memory(int fd) {
    return ::fcntl(fd, F_GET_SEALS) >= 0;
}

void DeferredCloser::close(std::vector<UniqueFd> fds) {
    std::erase_if(fds, [](const UniqueFd& fd) { return !fd; });
    if (fds.empty()) {
        return;
    }
    const std::lock_guard lock{mutex_};
    fds_.insert(
        fds_.end(), std::make_move_iterator(fds.begin()), std::make_move_iterator(fds.end()));
    has_thread_ = has_thread_ || begin_thread();
}

void DeferredCloser::close(UniqueFd fd) {
    std::vector<UniqueFd> fds;
    fds.push_back(std::move(fd));
    close(std::move(fds));
}

std::size_t DeferredCloser::waiting() const {
    const std::lock_guard lock{mutex_};
    return fds_.size() + at_work_;
}

bool DeferredCloser::begin_thread() {
    auto self = std::make_unique<CloserPtr>(shared_from_this());
    const bool is_begun = begin_detached(run, self.get());
    if (is_begun) {
        static_cast<void>(self.release());
    }
    return is_begun;
}

void* DeferredCloser::run(void* self) {
    const std::unique_ptr<CloserPtr> held{static_cast<CloserPtr*>(self)};
    DeferredCloser& closer = **held;
    std::unique_lock lock{closer.mutex_};
    while (!closer.fds_.empty()) {
        std::vector<UniqueFd> taken = std::exchange(closer.fds_, {});
        closer.at_work_ = taken.size();
        for (UniqueFd& fd : taken) {
            lock.unlock();
            fd.reset();
            lock.lock();
            --closer.at_work_;
        }
    }
    closer.has_thread_ = false;
    lock.unlock();  // Before the mutex is destroyed, if this was the last reference.
    return nullptr;
}

CloserPtr UserClosers::of(uid_t uid) {
    std::erase_if(closers_, [](const auto& one) { return one.second.expired(); });
    CloserPtr closer = closers_[uid].lock();
    if (!closer) {
        closer = std::make_shared<DeferredCloser>();
        closers_[uid] = closer;
    }
    return closer;
}

}  // namespace stage
