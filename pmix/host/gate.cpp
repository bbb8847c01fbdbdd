#include "pmix/host/gate.h"

#include "pmix/host/tcp.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace stage::pmix_host {
namespace {

/// Connections accepted per iteration of the loop; the rest waits in the backlog.
constexpr int kVisitorsATurn = 16;

Result<std::uint16_t> port_of(const UniqueFd& listener) {
    sockaddr_in place{};
    socklen_t length = sizeof(place);
    if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &length) != 0) {
        return Error::from_errno(Blame::node, "asking for the gate's port");
    }
    return ntohs(place.sin_port);
}

bool is_power_of_ten(std::uint64_t count) {
    while (count >= 10 && count % 10 == 0) {
        count /= 10;
    }
    return count == 1;
}

}  // namespace

Gate::Gate(Key /*key*/, const Logger& log, PeerUid peers, UniqueFd listener)
    : log_{log}, peers_{std::move(peers)}, listener_{std::move(listener)} {
}

Result<std::unique_ptr<Gate>> Gate::open(const Logger& log) {
    TRY(auto peers, PeerUid::open());
    TRY(auto listener, listen_tcp(ip_v4(INADDR_LOOPBACK), 0));
    auto gate = std::make_unique<Gate>(Key{}, log, std::move(peers), std::move(listener));
    TRY(gate->prove());
    return gate;
}

/// Connects to the own listener, since a kernel that cannot report the uid would reject every
/// worker.
Status Gate::prove() {
    TRY(const auto port, port_of(listener_));
    port_ = port;
    const Result<UniqueFd> self = begin_connect(ip_v4(INADDR_LOOPBACK), port_);
    const UniqueFd visitor = self ? accept_tcp(listener_) : UniqueFd{};
    if (!visitor) {
        return Error::from_errno(Blame::node, "connecting with the own gate");
    }
    TRY(const auto whose, peers_.of(visitor.get()));
    return whose == ::geteuid() ? Status{}
                                : Status{Error{Blame::node, "the kernel names another's uid"}};
}

void Gate::lead_to(std::uint16_t port, uid_t user) {
    inside_ = Inside{.port = port, .user = user};
}

void Gate::watch(std::vector<pollfd>& watched) const {
    watched.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
    for (const auto& relay : passed_) {
        std::array<pollfd, 2> sides{};
        relay->watch(sides);
        watched.insert(watched.end(), sides.begin(), sides.end());
    }
}

void Gate::attend() {
    std::erase_if(passed_, [](const auto& relay) { return !relay->attend(); });
    let_in();
}

void Gate::let_in() {
    for (int i = 0; i < kVisitorsATurn; ++i) {
        UniqueFd visitor = accept_tcp(listener_);
        if (!visitor) {
            return;
        }
        const Result<uid_t> whose = peers_.of(visitor.get());
        if (!whose) {
            continue;  // The peer has already closed it.
        }
        if (!inside_ || *whose != inside_->user || passed_.size() >= kMaxPassed) {
            turn_away(*whose);
            continue;
        }
        Result<UniqueFd> inner = begin_connect(ip_v4(INADDR_LOOPBACK), inside_->port);
        if (inner) {
            passed_.push_back(std::make_unique<Relay>(std::move(visitor), *std::move(inner)));
        }
    }
}

void Gate::turn_away(uid_t whose) {
    ++refused_;
    // A local user may try forever, so the log has the first attempt, the tenth, the hundredth
    // and so on.
    if (is_power_of_ten(refused_)) {
        log_.warn(
            "a connection of another user to this node's PMIx listener was refused; ask that "
            "user why",
            {{"uid", whose}, {"count", refused_}});
    }
}

}  // namespace stage::pmix_host
