#include "pmix/host/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace stage::pmix_host {

Mailbox::Mailbox() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    invariant(static_cast<bool>(event_), "an eventfd is to be had at the start");
}

bool Mailbox::post(Upcall upcall) {
    {
        const std::lock_guard lock{mutex_};
        if (waiting_.size() >= kMaxWaiting) {
            return false;
        }
        waiting_.push_back(std::move(upcall));
    }
    const std::uint64_t one = 1;
    // It fails only after 2^64 - 1 unread posts, and then the descriptor is readable.
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof(one));
    return true;
}

std::deque<Upcall> Mailbox::take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof(count));
    const std::lock_guard lock{mutex_};
    return std::exchange(waiting_, {});
}

}  // namespace stage::pmix_host
