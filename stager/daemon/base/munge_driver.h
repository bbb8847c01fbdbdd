// Runs munge's helper process and connects it to the daemon's loop.
//
// libmunge may block, so one child process calls it. If the child ends, another one is started,
// at most one a second.
#pragma once

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/link/munge_client.h"
#include "transport/base/log.h"

#include <optional>

namespace stage {

class MungeDriver {
  public:
    /// All arguments outlive the object.
    MungeDriver(Loop& loop, Children& children, const Logger& log, std::uint32_t role);
    MungeDriver(const MungeDriver&) = delete;
    MungeDriver& operator=(const MungeDriver&) = delete;
    ~MungeDriver();

    [[nodiscard]] MungeClient& client() { return client_; }
    /// To be called once a round, because links send the client questions directly.
    void before_wait();

  private:
    void start_helper();
    void look();

    Loop& loop_;
    Children& children_;
    const Logger& log_;
    std::uint32_t role_;
    MungeClient client_;
    int fd_ = -1;  ///< Watched; the client closes it.
    std::optional<Instant> started_at_;
    Alarm alarm_;
};

}  // namespace stage
