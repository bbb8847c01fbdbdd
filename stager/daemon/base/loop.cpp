#include "stager/daemon/base/loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace stage {
namespace {

constexpr int kEventsPerRound = 64;

std::uint64_t tagged(int fd, std::uint32_t generation) {
    return (std::uint64_t{generation} << 32U) | static_cast<std::uint32_t>(fd);
}

}  // namespace

Result<Loop> Loop::open() {
    UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
    if (!epoll) {
        return Error::from_errno(Blame::node, "epoll_create1");
    }
    return Loop{std::move(epoll)};
}

Loop::Loop(UniqueFd epoll) : epoll_{std::move(epoll)} {
    read_clock();
}

void Loop::read_clock() {
    timespec clock{};
    ::clock_gettime(CLOCK_BOOTTIME, &clock);
    now_ =
        Instant{std::chrono::seconds{clock.tv_sec} + std::chrono::nanoseconds{clock.tv_nsec}};
}

Status Loop::watch(int fd, std::uint32_t epoll_events, OnReady on_ready) {
    const auto found = watched_.find(fd);
    const bool known = found != watched_.end();
    if (known && found->second.events == epoll_events) {
        found->second.on_ready = std::make_shared<OnReady>(std::move(on_ready));
        return {};
    }
    const std::uint32_t generation = known ? found->second.generation : ++generation_;
    if (!control(known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, generation, epoll_events)) {
        return Error::from_errno(Blame::node, "epoll_ctl");
    }
    watched_[fd] = {.generation = generation,
                    .events = epoll_events,
                    .on_ready = std::make_shared<OnReady>(std::move(on_ready))};
    return {};
}

void Loop::forget(int fd) {
    if (watched_.erase(fd) > 0) {
        // A descriptor that its owner has already closed has left the epoll set, too.
        static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr));
    }
}

void Loop::rest(int fd, Duration time) {
    const auto found = watched_.find(fd);
    if (found == watched_.end()) {
        return;
    }
    const std::uint32_t generation = found->second.generation;
    static_cast<void>(control(EPOLL_CTL_MOD, fd, generation, 0));
    after(time, [this, fd, generation] {
        const auto rested = watched_.find(fd);
        if (rested != watched_.end() && rested->second.generation == generation) {
            static_cast<void>(control(EPOLL_CTL_MOD, fd, generation, rested->second.events));
        }
    });
}

bool Loop::control(int operation, int fd, std::uint32_t generation, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tagged(fd, generation);
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

Loop::TimerId Loop::at(Instant when, Task task) {
    const TimerId id = ++last_timer_;
    timers_.emplace(std::pair{when, id}, std::move(task));
    timer_times_.emplace(id, when);
    return id;
}

void Loop::cancel(TimerId timer) {
    const auto found = timer_times_.find(timer);
    if (found != timer_times_.end()) {
        timers_.erase({found->second, timer});
        timer_times_.erase(found);
    }
}

void Loop::run_timers() {
    // Runs what is due now; a timer that these set for now waits for the next round.
    const TimerId last = last_timer_;
    for (auto next = timers_.begin(); next != timers_.end() && next->first.first <= now_;) {
        if (next->first.second > last) {
            ++next;
            continue;
        }
        const Task task = std::move(next->second);
        timer_times_.erase(next->first.second);
        timers_.erase(next);
        task();
        next = timers_.begin();
    }
}

void Loop::run_deferred() {
    for (std::size_t left = deferred_.size(); left > 0; --left) {
        const Task task = std::move(deferred_.front());
        deferred_.pop_front();
        task();
    }
}

int Loop::wait_ms() const {
    if (!deferred_.empty()) {
        return 0;
    }
    if (timers_.empty()) {
        return -1;
    }
    using std::chrono::milliseconds;
    const Duration left = timers_.begin()->first.first - now_;
    const auto rounded = std::chrono::ceil<milliseconds>(left).count();
    return static_cast<int>(std::clamp<std::int64_t>(rounded, 0, 60'000));
}

void Loop::run() {
    std::array<epoll_event, kEventsPerRound> events{};
    while (!stopped_) {
        read_clock();
        run_timers();
        run_deferred();
        if (before_wait_) {
            before_wait_();
        }
        if (stopped_) {
            break;
        }
        const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerRound, wait_ms());
        read_clock();
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events.at(static_cast<std::size_t>(i));
            const int fd = static_cast<int>(event.data.u64 & 0xffffffffU);
            const auto found = watched_.find(fd);
            if (found != watched_.end() &&
                tagged(fd, found->second.generation) == event.data.u64) {
                const std::shared_ptr<OnReady> call = found->second.on_ready;
                (*call)(event.events);
            }
        }
    }
    stopped_ = false;
}

void Alarm::set(std::optional<Instant> when) {
    if (timer_ != 0 && when == when_) {
        return;
    }
    loop_.cancel(std::exchange(timer_, 0));
    when_ = when;
    if (when) {
        timer_ = loop_.at(*when, [this] {
            timer_ = 0;
            task_();
        });
    }
}

}  // namespace stage
