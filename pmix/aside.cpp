#include "pmix/aside.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

namespace stage {
namespace {

using Clock = std::chrono::steady_clock;

std::string seconds(std::chrono::milliseconds time) {
    const std::string whole = std::to_string(time.count() / 1000);
    const auto tenths = time.count() % 1000 / 100;
    return tenths == 0 ? whole + " s" : whole + '.' + std::to_string(tenths) + " s";
}

}  // namespace

UniqueFd make_event() {
    UniqueFd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    invariant(static_cast<bool>(event), "an eventfd is to be had");
    return event;
}

void set_event(const UniqueFd& event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof(one));
}

Status wait_readable(int done_fd, const Patience& patience, const std::string& doing) {
    const auto until = Clock::now() + patience.longest;
    for (;;) {
        // poll() passes over a descriptor of -1.
        std::array<pollfd, 2> watched{
            pollfd{.fd = done_fd, .events = POLLIN, .revents = 0},
            pollfd{.fd = patience.interrupt_fd, .events = POLLIN, .revents = 0}};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        const int wait = left.count() < 0 ? 0 : static_cast<int>(left.count());
        const int ready = ::poll(watched.data(), watched.size(), wait);
        if (ready < 0 && errno != EINTR) {
            return Error::from_errno(Blame::internal, doing);
        }
        if (watched[0].revents != 0) {
            return {};
        }
        if (watched[1].revents != 0) {
            return Error{Blame::internal, doing + ": interrupted", ECANCELED};
        }
        if (Clock::now() >= until) {
            return Error{Blame::node,
                         doing + ": no answer within " + seconds(patience.longest),
                         ETIMEDOUT};
        }
    }
}

Status run_aside(std::function<void()> work) {
    // std::thread reports by an exception, and only here.
    try {
        std::thread{std::move(work)}.detach();
        return {};
    } catch (const std::system_error& failed) {
        return Error::from_errno(Blame::node, "starting a thread", failed.code().value());
    }
}

}  // namespace stage
