#include "pmix/aside.h"

#include "pmix/waiting.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <thread>

namespace stage {

UniqueFd make_event() {
    UniqueFd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    invariant(static_cast<bool>(event), "an eventfd is to be had");
    return event;
}

void set_event(const UniqueFd& event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof(one));
}

void take_event(const UniqueFd& event) {
    std::uint64_t times = 0;
    [[maybe_unused]] const auto read = ::read(event.get(), &times, sizeof(times));
}

Status wait_readable(int done_fd, const WaitLimit& wait_limit, const std::string& doing) {
    Waiting waiting{wait_limit};
    std::array<pollfd, 1> watched{pollfd{.fd = done_fd, .events = POLLIN, .revents = 0}};
    const Waiting::Woken woken = waiting.wait(watched, Waiting::kForever);
    return woken == Waiting::Woken::ready ? Status{} : waiting.error(woken, doing);
}

Status run_with_timeout(std::function<void()> work) {
    // std::thread reports a failed start by an exception.
    try {
        std::thread{std::move(work)}.detach();
        return {};
    } catch (const std::system_error& failed) {
        return Error::from_errno(Blame::node, "starting a thread", failed.code().value())
            .remedy("does the user have too many processes?");
    }
}

}  // namespace stage
