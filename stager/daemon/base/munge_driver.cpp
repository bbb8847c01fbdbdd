#include "stager/daemon/base/munge_driver.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

namespace stage {
namespace {

constexpr Duration kRestartAfter = std::chrono::seconds{1};

}  // namespace

MungeDriver::MungeDriver(Loop& loop, Children& children, const Logger& log, std::uint32_t role)
    : loop_{loop}, children_{children}, log_{log}, role_{role}, alarm_{loop, [] {}} {
}

MungeDriver::~MungeDriver() {
    if (fd_ >= 0) {
        loop_.forget(fd_);
    }
}

void MungeDriver::before_wait() {
    const Instant now = loop_.now();
    if (client_.deadline() && *client_.deadline() <= now) {
        client_.on_time(now);
    }
    look();
    std::optional<Instant> wake = client_.deadline();
    if (client_.fd() < 0) {
        const Instant due = started_at_ ? *started_at_ + kRestartAfter : now;
        if (now >= due) {
            start_helper();
        } else {
            wake = std::min(wake.value_or(due), due);
        }
    }
    alarm_.set(wake);
}

void MungeDriver::start_helper() {
    started_at_ = loop_.now();
    auto helper = children_.spawner().start_role(role_, SOCK_SEQPACKET);
    if (!helper) {
        return;
    }
    const int fd = helper->socket.get();
    client_.attach(std::move(helper->socket));
    const Status watched = loop_.watch(fd, EPOLLIN, [this](auto) {
        client_.on_readable(loop_.now());
        look();
    });
    fd_ = watched ? fd : -1;
}

/// Follows every call into the client, before the helper's descriptor number is used again.
void MungeDriver::look() {
    if (fd_ >= 0 && client_.fd() != fd_) {
        loop_.forget(fd_);
        fd_ = -1;
        log_.warn("munge's helper process has ended; is munged running?");
    }
}

}  // namespace stage
