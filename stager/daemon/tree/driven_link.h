// Runs a sealed link in the daemon's loop.
//
// A Link reads, writes and checks its time-outs when it is called; this class calls it, and
// notifies its owner of frames and of the link's opening and closing.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <memory>

namespace stage {

class DrivenLink {
  public:
    /// The loop calls `on_change`, send() never does; it may destroy the object.
    DrivenLink(Loop& loop, std::unique_ptr<Link> link, Loop::Task on_change);
    DrivenLink(const DrivenLink&) = delete;
    DrivenLink& operator=(const DrivenLink&) = delete;
    ~DrivenLink();

    [[nodiscard]] Link& link() { return *link_; }
    /// Queues a frame. A refusal (too long, queue full) closes the link.
    void send(Bytes frame);
    /// To be called where other code may have closed the link.
    void look() { refresh(); }
    /// Closes the link at once; on_change is called.
    void close(Error error);
    /// Sends what is queued, then closes the link; on_change is called.
    void finish();
    /// Does what Link::release() does; on_change is not called any more.
    [[nodiscard]] UniqueFd release();
    /// Hands the link to another owner.
    void set_on_change(Loop::Task on_change) { on_change_ = std::move(on_change); }

  private:
    void on_ready(std::uint32_t events);
    void on_time();
    void refresh();
    void notify_later();

    Loop& loop_;
    std::unique_ptr<Link> link_;
    Loop::Task on_change_;
    Alarm alarm_;
    int fd_ = -1;  ///< Watched.
    bool notified_closed_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Sends `frame` and closes the link, which is kept for as long as that may take.
void send_last(Loop& loop, std::unique_ptr<DrivenLink> link, Bytes frame);

}  // namespace stage
