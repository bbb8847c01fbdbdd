#include "stager/link/listener.h"

#include "stager/link/link_socket.h"
#include "stager/link/port_holder.h"
#include "transport/os/lacks_descriptor.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace stage {
namespace {

constexpr int kBacklog = 512;
/// Connections taken per call, so that a flood leaves the loop time for others.
constexpr int kAcceptAtOnce = 64;

Result<UniqueFd> bound_socket(IpFamily family, std::uint16_t port) {
    const Address any{.ip = {.family = family}, .port = port};
    UniqueFd fd{::socket(any.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!fd) {
        return Error::from_errno(Blame::node, "opening a TCP socket");
    }
    const int on = 1;
    const int off = 0;
    static_cast<void>(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    const SocketAddress place = any.to_socket();
    if (any.is_v6()) {
        static_cast<void>(::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off));
    }
    if (::bind(fd.get(), place.get(), place.length) != 0 || ::listen(fd.get(), kBacklog) != 0) {
        return Error::from_errno(Blame::node, "listening on TCP port " + std::to_string(port));
    }
    return fd;
}

std::uint16_t port_of(int fd) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
        return 0;
    }
    const auto address = Address::from_socket(reinterpret_cast<sockaddr*>(&bound), length);
    return address ? address->port : std::uint16_t{0};
}

/// Converts an IPv4 address that an IPv6 socket has reported (::ffff:10.1.2.3).
Address plain(const Address& address) {
    constexpr std::size_t kPrefix = 12;
    const Bytes octets = address.ip.bytes();
    const bool mapped = address.is_v6() &&
                        std::all_of(octets.begin(),
                                    octets.begin() + kPrefix - 2,
                                    [](std::byte octet) { return octet == std::byte{0}; }) &&
                        octets[kPrefix - 2] == std::byte{0xff} &&
                        octets[kPrefix - 1] == std::byte{0xff};
    const auto v4 = mapped ? ip_from_bytes(octets.subspan(kPrefix)) : std::nullopt;
    return v4 ? Address{.ip = *v4, .port = address.port} : address;
}

}  // namespace

Listener::Listener(UniqueFd socket,
                   std::uint16_t port,
                   const LinkPolicy& policy,
                   Credentials& credentials,
                   const Logger& log)
    : socket_{std::move(socket)},
      port_{port},
      policy_{&policy},
      credentials_{&credentials},
      log_{&log} {
}

Result<Listener> Listener::open(std::uint16_t port,
                                const LinkPolicy& policy,
                                Credentials& credentials,
                                const Logger& log) {
    auto socket = bound_socket(IpFamily::v6, port);
    if (!socket && socket.error().cause() != EADDRINUSE) {
        socket = bound_socket(IpFamily::v4, port);
    }
    if (!socket && socket.error().cause() == EADDRINUSE) {
        return std::move(socket).error().remedy(holder_text(find_holder(port), port));
    }
    if (!socket) {
        return std::move(socket).error();
    }
    const std::uint16_t bound = port_of(socket->get());
    return Listener{std::move(*socket), bound, policy, credentials, log};
}

std::vector<std::unique_ptr<Link>> Listener::accept(Instant now) {
    std::vector<std::unique_ptr<Link>> links;
    lacks_descriptor_ = false;
    for (int taken = 0; taken < kAcceptAtOnce; ++taken) {
        sockaddr_storage peer{};
        socklen_t length = sizeof peer;
        UniqueFd fd{::accept4(socket_.get(),
                              reinterpret_cast<sockaddr*>(&peer),
                              &length,
                              SOCK_NONBLOCK | SOCK_CLOEXEC)};
        const int cause = errno;
        if (!fd && !may_try_again(cause, now)) {
            lacks_descriptor_ = stage::lacks_descriptor(cause);
            break;
        }
        const auto address = Address::from_socket(reinterpret_cast<sockaddr*>(&peer), length);
        if (!fd || !address) {
            continue;
        }
        const Address from = plain(*address);
        if (!make_place(from, now)) {
            count_refused(from, "too many others are logging in at this node", now);
            continue;
        }
        links.push_back(Link::accept(*policy_, *credentials_, std::move(fd), from, now));
        half_open_.push_back({.link = links.back().get(), .since = now});
    }
    return links;
}

/// After a failed accept. If no descriptors are left, an unproven link is closed for the
/// newcomer.
bool Listener::may_try_again(int cause, Instant now) {
    if ((cause == EMFILE || cause == ENFILE) && !half_open_.empty()) {
        evict(std::ranges::min_element(
                  half_open_, {}, [now](const HalfOpen& one) { return worth(one, now); }),
              now);
        return true;
    }
    return cause == ECONNABORTED || cause == EINTR;
}

/// The link with the lowest value is evicted first.
Listener::Worth Listener::worth(const HalfOpen& one, Instant now) {
    const bool is_privileged = one.link->address().port < kUnprivilegedPorts;
    return {is_privileged, now < one.since + kHalfOpenGrace, one.link->progress()};
}

/// False if there is no place for this newcomer.
bool Listener::make_place(const Address& newcomer, Instant now) {
    if (half_open_.size() < kHalfOpenMax) {
        return true;
    }
    const auto is_same = [&newcomer](const HalfOpen& one) {
        return one.link->address().ip == newcomer.ip;
    };
    const bool is_crowd = static_cast<std::size_t>(std::ranges::count_if(
                              half_open_, is_same)) >= kHalfOpenPerAddress;
    auto least = half_open_.end();
    for (auto one = half_open_.begin(); one != half_open_.end(); ++one) {
        const bool may_go = !is_crowd || is_same(*one);
        if (may_go && (least == half_open_.end() || worth(*one, now) < worth(*least, now))) {
            least = one;
        }
    }
    const bool is_last_of_root = least->link->address().port < kUnprivilegedPorts;
    if (is_last_of_root && newcomer.port >= kUnprivilegedPorts) {
        return false;
    }
    evict(least, now);
    return true;
}

void Listener::evict(std::vector<HalfOpen>::iterator one, Instant now) {
    Link* const link = one->link;
    half_open_.erase(one);
    link->evict();
    count_refused(link->address(), link->error()->sentence(), now);
}

void Listener::settle(const Link& link, Instant now) {
    const auto erased =
        std::erase_if(half_open_, [&link](const HalfOpen& one) { return one.link == &link; });
    if (erased > 0 && link.was_unauthorised()) {
        count_refused(
            link.address(),
            link.error() ? link.error()->sentence() : std::string{"it closed the connection"},
            now);
    }
}

void Listener::count_refused(const Address& address, const std::string& why, Instant now) {
    ++refused_total_;
    if (logged_at_ && now < *logged_at_ + kRefusedLogEvery) {
        return;
    }
    logged_at_ = now;
    log_->warn(
        "a login at the daemons' port failed; if that address is not a node of this cluster, "
        "close the port to it",
        {{"address", address.to_string()},
         {"why", why},
         {"times", refused_total_ - refused_logged_},
         {"total", refused_total_}});
    refused_logged_ = refused_total_;
}

}  // namespace stage
