#include "pmix/host/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace stage::pmix_host {
namespace {

/// PMIx sends small messages and waits for each answer.
void send_at_once(int fd) {
    const int yes = 1;
    static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)));
}

}  // namespace

Relay::Relay(UniqueFd one, UniqueFd two) : one_{std::move(one)}, two_{std::move(two)} {
    send_at_once(one_.get());
    send_at_once(two_.get());
}

void Relay::watch(std::span<pollfd, 2> watched) const {
    const auto events = [](const Way& in, const Way& out) {
        const int readable = !in.ended && !in.holds() ? POLLIN : 0;
        const int writable = out.holds() ? POLLOUT : 0;
        return static_cast<short>(readable | writable);
    };
    const short for_one = events(there_, back_);
    const short for_two = events(back_, there_);
    // poll() reports a hang-up even with no events requested, so such a side is not polled.
    watched[0] = {.fd = for_one != 0 ? one_.get() : -1, .events = for_one, .revents = 0};
    watched[1] = {.fd = for_two != 0 ? two_.get() : -1, .events = for_two, .revents = 0};
}

bool Relay::attend() {
    return move(there_, one_.get(), two_.get()) && move(back_, two_.get(), one_.get()) &&
           !(there_.closed && back_.closed);
}

bool Relay::move(Way& way, int from, int into) {
    if (!way.ended && !way.holds()) {
        const ssize_t count = ::recv(from, way.room.data(), way.room.size(), 0);
        if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
            return false;
        }
        way.ended = count == 0;
        way.first = 0;
        way.last = count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (way.holds()) {
        const ssize_t count =
            ::send(into, way.room.data() + way.first, way.last - way.first, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
            return false;
        }
        way.first += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (way.ended && !way.holds() && !way.closed) {
        way.closed = true;
        static_cast<void>(::shutdown(into, SHUT_WR));
    }
    return true;
}

}  // namespace stage::pmix_host
