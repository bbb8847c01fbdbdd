// The transport of host_message.h: one datagram per message. Long messages, which only a daemon
// sends, are in a memfd attached to a one-byte datagram.
#include "pmix/host_message.h"
#include "transport/os/descriptors.h"

#include <array>
#include <cerrno>

namespace stage {
namespace {

/// The one byte sent in place of a message that is in the memfd. No message is this short.
constexpr std::byte kInFile{0xff};
constexpr std::string_view kSending = "writing to the PMIx host's socket";

struct Datagram {
    HostReceived received;
    UniqueFd file;
};

Result<Datagram> receive(int fd, bool with_file) {
    Datagram datagram;
    Result<Received> received = receive_with_descriptors(
        fd, kMaxFromHost + 1, with_file ? 1 : 0, "reading the PMIx host's socket");
    if (!received && received.error().cause() == EAGAIN) {
        return datagram;
    }
    if (!received && received.error().cause() != ECONNRESET) {
        return std::move(received).error();
    }
    if (!received || received->ended) {
        datagram.received.kind = HostReceived::Kind::closed;
        return datagram;
    }
    if (received->message.size() > kMaxFromHost) {
        return Error{Blame::internal, "a datagram on the PMIx host's socket is too long"};
    }
    if (!received->fds.empty()) {
        datagram.file = std::move(received->fds.front());
    }
    datagram.received = {.kind = HostReceived::Kind::message,
                         .message = std::move(received->message)};
    return datagram;
}

}  // namespace

Status send_host_message(int fd, Bytes message) {
    if (message.size() <= kMaxFromHost) {
        return send_with_descriptors(fd, message, {}, 0, kSending);
    }
    TRY(const auto file, file_in_memory("stagecast-pmix", message));
    return send_with_descriptors(fd, Bytes{&kInFile, 1}, std::array{file.get()}, 0, kSending);
}

Result<HostReceived> receive_from_host(int fd) {
    TRY(auto datagram, receive(fd, false));
    return std::move(datagram.received);
}

Result<HostReceived> receive_to_host(int fd) {
    TRY(auto datagram, receive(fd, true));
    const std::vector<std::byte>& message = datagram.received.message;
    if (!datagram.file || message.size() != 1 || message.front() != kInFile) {
        return std::move(datagram.received);
    }
    TRY(auto whole, read_first(datagram.file.get(), kMaxToHost + 1));
    if (whole.size() > kMaxToHost) {
        return Error{Blame::internal, "the daemon's message is too long"};
    }
    return HostReceived{.kind = HostReceived::Kind::message, .message = std::move(whole)};
}

}  // namespace stage
