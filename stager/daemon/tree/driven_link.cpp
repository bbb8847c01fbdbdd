#include "stager/daemon/tree/driven_link.h"

#include "stager/daemon/base/loop.h"

#include <sys/epoll.h>

namespace stage {

DrivenLink::DrivenLink(Loop& loop, std::unique_ptr<Link> link, Loop::Task on_change)
    : loop_{loop},
      link_{std::move(link)},
      on_change_{std::move(on_change)},
      alarm_{loop, [this] { on_time(); }} {
    // Munge's answer changes the link outside of the calls of this object.
    link_->set_wake([this] {
        refresh();
        notify_later();
    });
    refresh();
}

DrivenLink::~DrivenLink() {
    link_->set_wake([] {});
    if (fd_ >= 0) {
        loop_.forget(fd_);
    }
}

void DrivenLink::send(Bytes frame) {
    const Status sent = link_->send(frame);
    if (!sent) {
        link_->close(sent.error());
    }
    refresh();
}

void DrivenLink::close(Error error) {
    link_->close(std::move(error));
    refresh();
}

void DrivenLink::finish() {
    link_->finish(loop_.now());
    refresh();
}

UniqueFd DrivenLink::release() {
    UniqueFd socket = link_->release();
    if (socket) {
        on_change_ = [] {};
    }
    refresh();  // Forgets the descriptor while it is still open.
    return socket;
}

void DrivenLink::on_time() {
    link_->on_time(loop_.now());
    refresh();
    notify_later();
}

void DrivenLink::on_ready(std::uint32_t events) {
    if ((events & EPOLLOUT) != 0) {
        link_->on_writable(loop_.now());
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && link_->fd() >= 0) {
        link_->on_readable(loop_.now());
    }
    refresh();
    notify_later();
}

void DrivenLink::notify_later() {
    loop_.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            const Loop::Task call = on_change_;  // It may destroy this object.
            call();
        }
    });
}

/// Updates the watch to the link's state. Must follow every call into the link, before another
/// descriptor can get the number of one that the link has closed.
void DrivenLink::refresh() {
    const int fd = link_->fd();
    if (fd_ >= 0 && fd != fd_) {
        loop_.forget(fd_);
        fd_ = -1;
    }
    if (fd >= 0) {
        const std::uint32_t events = EPOLLIN | (link_->wants_write() ? EPOLLOUT : 0U);
        const Status watched =
            loop_.watch(fd, events, [this](std::uint32_t ready) { on_ready(ready); });
        if (watched) {
            fd_ = fd;
        } else {
            link_->close(watched.error());
        }
    }
    if (link_->state() == Link::State::closed && !notified_closed_) {
        notified_closed_ = true;
        notify_later();
    }
    alarm_.set(link_->deadline());
}

void send_last(Loop& loop, std::unique_ptr<DrivenLink> link, Bytes frame) {
    constexpr Duration kLastWordMax = std::chrono::seconds{5};
    link->set_on_change([] {});
    link->send(frame);
    link->finish();
    loop.after(kLastWordMax, [left = std::shared_ptr<DrivenLink>{std::move(link)}] {});
}

}  // namespace stage
