// The transport of host_message.h: one datagram per message. Long messages, which only a daemon
// sends, are in a memfd attached to a one-byte datagram.
#include "pmix/host_message.h"
#include "transport/os/unique_fd.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace stage {
namespace {

/// The one byte sent in place of a message that is in the memfd. No message is this short.
constexpr std::byte kInFile{0xff};

Status send_datagram(int fd, Bytes datagram, int file) {
    iovec part{};
    part.iov_base = const_cast<std::byte*>(datagram.data());  // sendmsg() only reads it.
    part.iov_len = datagram.size();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    if (file >= 0) {
        head.msg_control = room.data();
        head.msg_controllen = room.size();
        cmsghdr* const control = CMSG_FIRSTHDR(&head);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(control), &file, sizeof(int));
    }
    for (;;) {
        if (::sendmsg(fd, &head, MSG_NOSIGNAL) >= 0) {
            return {};
        }
        if (errno != EINTR) {
            return Error::from_errno(Blame::internal, "writing to the PMIx host's socket");
        }
    }
}

Result<UniqueFd> file_of(Bytes message) {
    UniqueFd file{::memfd_create("stagecast-pmix", MFD_CLOEXEC)};
    for (std::size_t done = 0; file && done < message.size();) {
        const auto at = static_cast<off_t>(done);
        const ssize_t count =
            ::pwrite(file.get(), message.data() + done, message.size() - done, at);
        if (count < 0 && errno != EINTR) {
            file.reset();
        }
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (!file) {
        return Error::from_errno(Blame::internal, "filling a memfd");
    }
    return file;
}

Result<HostReceived> read_file(int file) {
    HostReceived received{.kind = HostReceived::Kind::message, .message = {}};
    std::array<std::byte, 64U << 10U> piece{};
    while (received.message.size() <= kMaxToHost) {
        const auto at = static_cast<off_t>(received.message.size());
        const ssize_t count = ::pread(file, piece.data(), piece.size(), at);
        if (count == 0) {
            return received;
        }
        if (count < 0 && errno != EINTR) {
            return Error::from_errno(Blame::internal, "reading the daemon's memfd");
        }
        const std::ptrdiff_t read = count > 0 ? count : 0;
        received.message.insert(received.message.end(), piece.begin(), piece.begin() + read);
    }
    return Error{Blame::internal, "the daemon's message is too long"};
}

/// Takes the one descriptor that may be attached; the kernel drops any more for lack of space.
UniqueFd descriptor_of(msghdr& head) {
    const cmsghdr* const control = CMSG_FIRSTHDR(&head);
    if (control == nullptr || control->cmsg_level != SOL_SOCKET ||
        control->cmsg_type != SCM_RIGHTS || control->cmsg_len < CMSG_LEN(sizeof(int))) {
        return {};
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof(int));
    return UniqueFd{descriptor};
}

struct Datagram {
    HostReceived received;
    UniqueFd file;
};

Result<Datagram> receive(int fd, bool with_file) {
    std::vector<std::byte> room(kMaxFromHost + 1);
    iovec part{room.data(), room.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = with_file ? control.data() : nullptr;
    head.msg_controllen = with_file ? control.size() : 0;
    ssize_t count = 0;
    do {
        count = ::recvmsg(fd, &head, MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    Datagram datagram;
    if (count < 0 && (errno == EAGAIN)) {
        return datagram;
    }
    if (count == 0 || (count < 0 && errno == ECONNRESET)) {
        datagram.received.kind = HostReceived::Kind::closed;
        return datagram;
    }
    if (count < 0) {
        return Error::from_errno(Blame::internal, "reading the PMIx host's socket");
    }
    if (static_cast<std::size_t>(count) > kMaxFromHost) {
        return Error{Blame::internal, "a datagram on the PMIx host's socket is too long"};
    }
    datagram.file = with_file ? descriptor_of(head) : UniqueFd{};
    room.resize(static_cast<std::size_t>(count));
    datagram.received = {.kind = HostReceived::Kind::message, .message = std::move(room)};
    return datagram;
}

}  // namespace

Status send_host_message(int fd, Bytes message) {
    if (message.size() <= kMaxFromHost) {
        return send_datagram(fd, message, -1);
    }
    const Result<UniqueFd> file = file_of(message);
    if (!file) {
        return file.error();
    }
    return send_datagram(fd, Bytes{&kInFile, 1}, file->get());
}

Result<HostReceived> receive_from_host(int fd) {
    Result<Datagram> datagram = receive(fd, false);
    if (!datagram) {
        return std::move(datagram).error();
    }
    return std::move(datagram->received);
}

Result<HostReceived> receive_to_host(int fd) {
    Result<Datagram> datagram = receive(fd, true);
    if (!datagram) {
        return std::move(datagram).error();
    }
    const std::vector<std::byte>& message = datagram->received.message;
    if (datagram->file && message.size() == 1 && message.front() == kInFile) {
        return read_file(datagram->file.get());
    }
    return std::move(datagram->received);
}

}  // namespace stage
