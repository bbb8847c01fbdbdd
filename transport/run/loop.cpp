#include "transport/run/loop.h"

#include "transport/run/stamp_clock.h"

#include <sys/prctl.h>

#include <bit>
#include <chrono>

namespace stage {
namespace {

timespec to_timespec(Duration duration) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

SessionLoop::SessionLoop(const SessionParts& parts) : parts_{parts}, session_{parts} {
    // Pacing rests on short sleeps; the default slack of 50 us is most of one at 10 Gbit/s.
    static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL));
}

void SessionLoop::run() {
    Instant now = read_clock();
    session_.hear_watcher(now);  // (An earlier session read what had arrived before.)
    Waits waits = session_.turn(now, Readable{});
    while (!session_.is_over()) {
        const Readable found = wait(now, waits);
        now = read_clock();
        waits = session_.turn(now, found);
    }
    // The disk thread may still hold a block's buffer: its results matter no more, its end
    // does.
    parts_.watcher.on_progress(parts_.core.outcome());
}

/// The descriptors to wait for. ppoll() passes over those that are -1.
void SessionLoop::list(const Waits& waits) {
    listed_.clear();
    const auto add = [this](int descriptor, short events = POLLIN) {
        listed_.push_back({.fd = descriptor, .events = events, .revents = 0});
    };
    const int stream = parts_.driver.stream_descriptor();
    for (const int socket : parts_.driver.descriptors()) {
        add(socket == stream && waits.stream != StreamWait::wakes ? -1 : socket);
    }
    sockets_ = listed_.size();
    for (std::uint32_t left = waits.outlets; left != 0; left &= left - 1) {
        add(parts_.driver.outlet_descriptor(static_cast<std::size_t>(std::countr_zero(left))),
            parts_.driver.outlet_events());
    }
    if (parts_.flows != nullptr) {
        add(waits.stream == StreamWait::stays ? -1 : parts_.flows->event_fd());
    }
    add(parts_.disk.event_fd());
    add(parts_.watcher.descriptor());
}

Readable SessionLoop::wait(Instant now, const Waits& waits) {
    list(waits);
    const Readable awaited{.peers = true, .stream = waits.stream == StreamWait::wakes};
    const bool has_more = !parts_.driver.prepare_wait(awaited);
    const timespec timeout = to_timespec(has_more ? Duration::zero() : waits.until - now);
    const int ready = ::ppoll(listed_.data(), listed_.size(), &timeout, nullptr);
    if (ready < 0) {  // Interrupted: what has gathered is taken in.
        return {};
    }
    Readable found{.peers = has_more, .stream = has_more && awaited.stream};
    const int stream = parts_.driver.stream_descriptor();
    for (const pollfd& one : std::span{listed_}.first(sockets_)) {
        (one.fd == stream ? found.stream : found.peers) |= one.revents != 0;
    }
    if (ready > 0 && (listed_.back().revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        session_.hear_watcher(read_clock());
    }
    return found;
}

}  // namespace stage
