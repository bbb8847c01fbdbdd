#include "pmix/static/stream.h"

#include "transport/base/address.h"
#include "transport/base/codec.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stage {
namespace {

constexpr std::size_t kLengthBytes = 4;

UniqueFd tcp_socket(const IpAddress& address) {
    const int family = address.family == IpFamily::v4 ? AF_INET : AF_INET6;
    return UniqueFd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

std::string at(const IpAddress& address, std::uint16_t port) {
    return to_string(address) + " port " + std::to_string(port);
}

}  // namespace

Result<UniqueFd> listen_tcp(const IpAddress& address, std::uint16_t port) {
    UniqueFd socket = tcp_socket(address);
    const int yes = 1;
    const SocketAddress place = Address{.ip = address, .port = port}.to_socket();
    if (!socket ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::bind(socket.get(), place.get(), place.length) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0) {
        const int cause = errno;
        Error error =
            Error::from_errno(Blame::node, "listening on " + at(address, port), cause);
        return cause == EADDRNOTAVAIL
                   ? std::move(error).remedy("is this the host of that line of the host file?")
                   : std::move(error);
    }
    return socket;
}

std::optional<Visitor> accept_tcp(const UniqueFd& listener) {
    sockaddr_storage storage{};
    socklen_t length = sizeof(storage);
    auto* const peer = reinterpret_cast<sockaddr*>(&storage);
    UniqueFd socket{::accept4(listener.get(), peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    const auto from = socket ? Address::from_socket(peer, length) : Result<Address>{Address{}};
    if (!socket || !from) {
        return std::nullopt;
    }
    return Visitor{.socket = std::move(socket), .from = from->ip};
}

Result<UniqueFd> begin_connect(const IpAddress& address, std::uint16_t port) {
    UniqueFd socket = tcp_socket(address);
    const SocketAddress place = Address{.ip = address, .port = port}.to_socket();
    if (!socket ||
        (::connect(socket.get(), place.get(), place.length) != 0 && errno != EINPROGRESS)) {
        return Error::from_errno(Blame::node, at(address, port));
    }
    return socket;
}

Status connect_outcome(const UniqueFd& socket) {
    int cause = 0;
    socklen_t length = sizeof(cause);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &cause, &length) != 0) {
        cause = errno;
    }
    if (cause != 0) {
        return Error::from_errno(Blame::node, "connecting", cause);
    }
    return {};
}

std::optional<std::size_t> MessageStream::announced() const {
    if (held_.size() < kLengthBytes) {
        return std::nullopt;
    }
    ByteReader in{held_};
    return in.u32();
}

bool MessageStream::read() {
    for (;;) {
        const std::optional<std::size_t> length = announced();
        if (length && (*length == 0 || *length > limit_)) {
            return false;
        }
        const std::size_t wanted = kLengthBytes + length.value_or(0);
        if (length && held_.size() == wanted) {
            return true;
        }
        // Memory grows with the received bytes, not with the announced length.
        std::array<std::byte, 16U << 10U> room{};
        const std::size_t most = std::min(room.size(), wanted - held_.size());
        const ssize_t count = ::recv(socket_.get(), room.data(), most, 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count < 0 && errno == EAGAIN;
        }
        held_.insert(held_.end(), room.begin(), room.begin() + count);
    }
}

std::optional<std::vector<std::byte>> MessageStream::take() {
    const std::optional<std::size_t> length = announced();
    if (!length || held_.size() < kLengthBytes + *length) {
        return std::nullopt;
    }
    std::vector<std::byte> message{held_.begin() + kLengthBytes, held_.end()};
    held_.clear();
    return message;
}

void MessageStream::say(Bytes message, Bytes rest) {
    ByteWriter out;
    out.raw(Bytes{unsent_}.subspan(sent_));
    out.u32(static_cast<std::uint32_t>(message.size() + rest.size())).raw(message).raw(rest);
    unsent_ = out.take();
    sent_ = 0;
}

bool MessageStream::write() {
    while (has_unsent()) {
        const ssize_t count =
            ::send(socket_.get(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return errno == EAGAIN;
        }
        sent_ += static_cast<std::size_t>(count);
    }
    // Sent bytes are freed: rank 0 sends a table to a thousand members.
    std::vector<std::byte>{}.swap(unsent_);
    sent_ = 0;
    return true;
}

}  // namespace stage
