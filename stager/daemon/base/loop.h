// Runs the daemon's callbacks when descriptors become ready and timers expire.
//
// The daemon is one thread with epoll and timers: everything it does is a callback from here,
// and none may block. A callback may watch, forget and cancel anything, itself included.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <chrono>
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

    /// Watches a descriptor, level-triggered. Watching it again replaces events and callback.
    /// The descriptor is borrowed until forget(), which must come before it is closed.
    Status watch(int fd, std::uint32_t epoll_events, OnReady on_ready);
    void forget(int fd);
    /// Ignores the watched descriptor for that time: a listener from which the process cannot
    /// accept, for want of a descriptor, would be reported again at once.
    void rest(int fd, Duration time = std::chrono::milliseconds{100});

    TimerId at(Instant when, Task task);
    TimerId after(Duration delay, Task task) { return at(now_ + delay, std::move(task)); }
    /// Unknown timers and 0 are ignored.
    void cancel(TimerId timer);
    /// Runs the task before the loop waits again, outside of any other callback.
    void defer(Task task) { deferred_.push_back(std::move(task)); }

    /// Runs the task in each round before the loop waits, after the deferred tasks. One only.
    void before_wait(Task task) { before_wait_ = std::move(task); }

    /// Runs until stop(); then it may run again.
    void run();
    void stop() { stopped_ = true; }

  private:
    struct Watched {
        std::uint32_t generation;
        std::uint32_t events;
        std::shared_ptr<OnReady> on_ready;  ///< Shared with the call in progress.
    };

    explicit Loop(UniqueFd epoll);
    [[nodiscard]] bool control(int operation,
                               int fd,
                               std::uint32_t generation,
                               std::uint32_t events);
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

/// A timer that can be set again and again, and is cancelled when its owner is destroyed.
class Alarm {
  public:
    Alarm(Loop& loop, Loop::Task task) : loop_{loop}, task_{std::move(task)} {}
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() { loop_.cancel(timer_); }

    /// Sets the timer to `when`, in place of the earlier time; no value cancels it.
    void set(std::optional<Instant> when);

  private:
    Loop& loop_;
    Loop::Task task_;
    Loop::TimerId timer_ = 0;
    std::optional<Instant> when_;
};

}  // namespace stage
