#include "stager/worker/broadcast/interrupts.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>

namespace stage {
namespace {

Error failed(std::string_view doing) {
    return Error::from_errno(Blame::internal, doing);
}

/// Formats "15 s", "1.5 s".
std::string in_seconds(std::chrono::milliseconds time) {
    std::array<char, 32> text{};
    static_cast<void>(std::snprintf(
        text.data(), text.size(), "%g s", static_cast<double>(time.count()) / 1000.0));
    return text.data();
}

}  // namespace

Result<Interrupts> Interrupts::make() {
    Interrupts made;
    sigset_t ending{};
    sigemptyset(&ending);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&ending, signal);
    }
    if (::pthread_sigmask(SIG_BLOCK, &ending, nullptr) != 0 ||
        std::signal(SIGPIPE, SIG_IGN) == SIG_ERR || std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        return failed("setting signals up");
    }
    made.all_.reset(::epoll_create1(EPOLL_CLOEXEC));
    made.signals_.reset(::signalfd(-1, &ending, SFD_NONBLOCK | SFD_CLOEXEC));
    made.timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!made.all_ || !made.signals_ || !made.timer_) {
        return failed("making the descriptors of a worker");
    }
    for (const int fd : {made.signals_.get(), made.timer_.get()}) {
        TRY(made.add(fd));
    }
    return made;
}

Status Interrupts::add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) == 0
               ? Status{}
               : Status{failed("epoll_ctl")};
}

Status Interrupts::limit(std::chrono::milliseconds time) {
    limit_ = time;
    itimerspec when{};
    when.it_value.tv_sec = time.count() / 1000;
    when.it_value.tv_nsec = time.count() % 1000 * 1'000'000;
    return ::timerfd_settime(timer_.get(), 0, &when, nullptr) == 0
               ? Status{}
               : Status{failed("timerfd_settime")};
}

Status Interrupts::also(int fd, std::function<Status()> on_readable) {
    invariant(other_ < 0, "one more descriptor, not two");
    other_ = fd;
    on_readable_ = std::move(on_readable);
    return add(fd);
}

Status Interrupts::check() {
    if (!ended_) {
        if (Status looked = look(); !looked) {
            ended_ = std::move(looked).error();
        }
    }
    return ended_ ? Status{*ended_} : Status{};
}

Status Interrupts::look() {
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
        const char* name = ::sigabbrev_np(static_cast<int>(signal.ssi_signo));
        return Error{
            Blame::user,
            std::string{"ended by a signal (SIG"} + (name == nullptr ? "?" : name) + ")"};
    }
    std::uint64_t expired = 0;
    if (::read(timer_.get(), &expired, sizeof expired) == sizeof expired) {
        return Error{Blame::node, "not done within " + in_seconds(limit_), ETIMEDOUT}.remedy(
            "allow more time, or find out which node is slow");
    }
    pollfd one{other_, POLLIN, 0};
    if (other_ >= 0 && ::poll(&one, 1, 0) == 1) {
        return on_readable_();
    }
    return {};
}

Status Interrupts::wait(std::chrono::milliseconds longest) {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    pollfd one{all_.get(), POLLIN, 0};
    static_cast<void>(
        ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(longest.count(), 0, kMost))));
    return check();
}

}  // namespace stage
