#include "stager/worker/stranger_fd.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <memory>

namespace stage {
namespace {

constexpr std::size_t kStackBytes = 256U << 10U;

using Fds = std::vector<UniqueFd>;

void* close_all(void* fds) {
    const std::unique_ptr<Fds> owned{static_cast<Fds*>(fds)};
    return nullptr;
}

/// Signals are the daemon's own business, not such a thread's.
bool begin_thread(Fds* fds) {
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
                          ::pthread_create(&thread, &how, close_all, fds) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&how);
    return is_begun;
}

}  // namespace

bool is_in_memory(int fd) {
    return ::fcntl(fd, F_GET_SEALS) >= 0;
}

void close_apart(std::vector<UniqueFd> fds) {
    std::erase_if(fds, [](const UniqueFd& fd) { return !fd || is_in_memory(fd.get()); });
    if (fds.empty()) {
        return;
    }
    auto handed = std::make_unique<Fds>(std::move(fds));
    if (begin_thread(handed.get())) {
        static_cast<void>(handed.release());
        return;
    }
    for (UniqueFd& fd : *handed) {
        static_cast<void>(fd.release());
    }
}

void close_apart(UniqueFd fd) {
    Fds fds;
    fds.push_back(std::move(fd));
    close_apart(std::move(fds));
}

}  // namespace stage
