// What has happened, and whose business is it?
//
// One thread, epoll, timers: everything the daemon does is a callback from here, and none may
// block. Callbacks may watch, forget and cancel anything, themselves included.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace stage {

class Loop {
  public:
    using OnReady = std::function<void(std::uint32_t epoll_events)>;
    using Task = std::function<void()>;
    using TimerId = std::uint64_t;  ///< 0 is none.

    static Result<Loop> open();

    /// The monotonic clock, read once a round.
    [[nodiscard]] Instant now() const { return now_; }

    /// Level-triggered. Watching a descriptor again replaces events and callback. The
    /// descriptor is borrowed until forget(), which must come before it is closed.
    Status watch(int fd, std::uint32_t epoll_events, OnReady on_ready);
    void forget(int fd);

    TimerId at(Instant when, Task task);
    TimerId after(Duration delay, Task task) { return at(now_ + delay, std::move(task)); }
    /// Unknown timers and 0 are ignored.
    void cancel(TimerId timer);
    /// Before the loop waits again, outside of any other callback.
    void defer(Task task) { deferred_.push_back(std::move(task)); }

    /// Each round before the loop waits, after what was deferred. One only.
    void before_wait(Task task) { before_wait_ = std::move(task); }

    /// Until stop(); then it may run again.
    void run();
    void stop() { stopped_ = true; }

  private:
    struct Watched {
        std::uint32_t generation;
        std::uint32_t events;
        std::shared_ptr<OnReady> on_ready;  ///< Shared with the call that is under way.
    };

    explicit Loop(UniqueFd epoll);
    void read_clock();
    void run_timers();
    void run_deferred();
    [[nodiscard]] int wait_ms() const;

    UniqueFd epoll_;
    Instant now_{};
    bool stopped_ = false;
    std::uint32_t generation_ = 0;
    TimerId last_timer_ = 0;
    std::unordered_map<int, Watched> watched_;
    std::map<std::pair<Instant, TimerId>, Task> timers_;
    std::unordered_map<TimerId, Instant> timer_times_;
    std::deque<Task> deferred_;
    Task before_wait_;
};

/// A timer that is set again and again, and dies with its owner.
class Alarm {
  public:
    Alarm(Loop& loop, Loop::Task task) : loop_{loop}, task_{std::move(task)} {}
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() { loop_.cancel(timer_); }

    /// At `when`, instead of whatever was set before; nothing cancels.
    void set(std::optional<Instant> when);

  private:
    Loop& loop_;
    Loop::Task task_;
    Loop::TimerId timer_ = 0;
    std::optional<Instant> when_;
};

}  // namespace stage
