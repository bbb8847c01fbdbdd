// How does a sealed link live in the daemon's loop?
//
// A Link reads, writes and keeps its time when it is told to; this tells it, and says when
// there is something for its owner: frames, or that it is open or closed.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <memory>

namespace stage {

class DrivenLink {
  public:
    /// `on_change` is called from the loop, never from within send(); it may destroy this.
    DrivenLink(Loop& loop, std::unique_ptr<Link> link, Loop::Task on_change);
    DrivenLink(const DrivenLink&) = delete;
    DrivenLink& operator=(const DrivenLink&) = delete;
    ~DrivenLink();

    [[nodiscard]] Link& link() { return *link_; }
    /// Queues a frame. A refusal (too long, queue full) closes the link.
    void send(Bytes frame);
    /// Somebody else may have closed the link.
    void look() { refresh(); }
    /// At once; on_change is told.
    void close(Error error);
    /// Sends what is queued, then closes; on_change is told.
    void finish();
    /// As Link::release(); on_change is not called any more.
    [[nodiscard]] UniqueFd release();
    /// Another owner takes over.
    void set_on_change(Loop::Task on_change) { on_change_ = std::move(on_change); }

  private:
    void on_ready(std::uint32_t events);
    void on_time();
    void refresh();
    void tell_later();

    Loop& loop_;
    std::unique_ptr<Link> link_;
    Loop::Task on_change_;
    Alarm alarm_;
    int fd_ = -1;  ///< Watched.
    bool told_closed_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
