#include "transport/tcp/tcp_dialler.h"

#include "transport/base/invariant.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace stage::tcp {
namespace {

constexpr std::size_t kEventsMax = 64;
/// In a cluster the RTT is below 1 ms, and the kernel answers, however busy its processes are.
constexpr Duration kFirstWait = std::chrono::milliseconds{25};
constexpr int kRoundTrips = 2;
/// The last is made after 775 ms; after 1 s TCP repeats the first one's SYN.
constexpr std::size_t kAttemptsMax = 6;
constexpr std::size_t kMultipathMax = 3;  ///< The first attempts use Multipath TCP.

[[nodiscard]] bool await(int events, int descriptor, std::uint32_t kind, std::uint64_t what) {
    epoll_event event{};
    event.events = kind;
    event.data.u64 = what;
    return ::epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

[[nodiscard]] std::uint64_t name_of(LinkEnd to, std::size_t attempt) {
    return std::uint64_t{to.peer.index()} << 32U | std::uint64_t{to.flow.index()} << 16U |
           attempt;
}

[[nodiscard]] LinkEnd end_of(std::uint64_t name) {
    return {.peer = Rank{static_cast<std::uint16_t>(name >> 32U)},
            .flow = Flow{static_cast<std::uint8_t>(name >> 16U)}};
}

[[nodiscard]] bool arm(int timer, Duration wait) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
    itimerspec when{};
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec =
        std::chrono::duration_cast<std::chrono::nanoseconds>(wait - seconds).count();
    return ::timerfd_settime(timer, 0, &when, nullptr) == 0;
}

}  // namespace

TcpDialler::TcpDialler(const Address& own, const Shaping& shaping)
    : own_{own}, shaping_{shaping}, events_{::epoll_create1(EPOLL_CLOEXEC)} {
    invariant(events_.get() >= 0, "a process can wait for descriptors");
}

/// Without a timer there is one attempt, and TCP repeats its SYN.
bool TcpDialler::dial(LinkEnd to, const Address& address) {
    invariant(!dials_.contains(to), "a peer is dialled once at a time");
    Dial dial{.address = address,
              .timer = {},
              .wait = first_wait(),
              .attempts = {},
              .multipath = shaping_.is_multipath ? kMultipathMax : 0};
    if (!attempt(to, dial)) {
        return false;
    }
    dial.timer.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    static_cast<void>(dial.timer && arm(dial.timer.get(), dial.wait) &&
                      await(events_.get(), dial.timer.get(), EPOLLIN, name_of(to, 0)));
    dials_.emplace(to, std::move(dial));
    return true;
}

Duration TcpDialler::first_wait() const {
    return std::max(kFirstWait, kRoundTrips * round_trip_);
}

bool TcpDialler::attempt(LinkEnd to, Dial& dial) {
    Shaping shaping = shaping_;
    shaping.is_multipath = dial.attempts.size() < dial.multipath;
    auto socket = begin_connection(own_, dial.address, shaping);
    if (!socket ||
        !await(events_.get(), socket->get(), EPOLLOUT, name_of(to, dial.attempts.size() + 1))) {
        return false;
    }
    dial.attempts.push_back(std::move(*socket));
    return true;
}

void TcpDialler::on_timer(LinkEnd to, Dial& dial) {
    std::uint64_t expirations = 0;
    if (::read(dial.timer.get(), &expirations, sizeof expirations) < 0) {
        return;
    }
    static_cast<void>(attempt(to, dial));
    dial.wait *= 2;
    if (dial.attempts.size() < kAttemptsMax) {
        static_cast<void>(arm(dial.timer.get(), dial.wait));
    }
}

/// A multipath attempt was refused, and a plain one is under way, or can be.
bool TcpDialler::goes_on(LinkEnd to, Dial& dial, std::size_t refused) {
    if (refused >= dial.multipath) {
        return false;
    }
    dial.multipath = std::min(dial.multipath, dial.attempts.size());
    return dial.attempts.size() > dial.multipath || attempt(to, dial);
}

void TcpDialler::poll(std::vector<Dialled>& ended) {
    std::array<epoll_event, kEventsMax> events;
    const int count =
        ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (const epoll_event& event :
         std::span{events}.first(static_cast<std::size_t>(std::max(count, 0)))) {
        const LinkEnd to = end_of(event.data.u64);
        const auto number = static_cast<std::uint16_t>(event.data.u64);
        const auto found = dials_.find(to);
        if (found == dials_.end() || number > found->second.attempts.size()) {
            continue;  // It ended in this turn.
        }
        if (number == 0) {
            on_timer(to, found->second);
            continue;
        }
        UniqueFd socket = std::move(found->second.attempts[number - 1]);
        static_cast<void>(::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket.get(), nullptr));
        if (connection_error(socket.get()) != 0) {
            socket.reset();
            if (goes_on(to, found->second, number - std::size_t{1})) {
                continue;
            }
        }
        const Duration round_trip = socket ? round_trip_of(socket.get()) : Duration{};
        learn(round_trip);
        ended.push_back({.to = to, .socket = std::move(socket), .round_trip = round_trip});
        dials_.erase(found);
    }
}

}  // namespace stage::tcp
