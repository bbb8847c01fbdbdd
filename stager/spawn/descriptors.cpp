#include "stager/spawn/descriptors.h"

#include "stager/spawn/request.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace stage {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(kSpawnFdsMax * sizeof(int));
using Control = std::array<std::byte, kControlBytes>;

}  // namespace

Status send_with_descriptors(int socket, Bytes message, std::span<const int> fds) {
    invariant(fds.size() <= kSpawnFdsMax, "few descriptors travel at once");
    iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) Control control{};
    if (!fds.empty()) {
        header.msg_control = control.data();
        header.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return Error::from_errno(Blame::internal, "sending a request");
    }
    return {};
}

Result<Received> receive_with_descriptors(int socket) {
    Received received;
    received.message.resize(kSpawnRequestMax);
    iovec part{.iov_base = received.message.data(), .iov_len = received.message.size()};
    alignas(cmsghdr) Control control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t got = -1;
    do {
        got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return Error::from_errno(Blame::internal, "receiving a request");
    }
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
         part_of = CMSG_NXTHDR(&header, part_of)) {
        if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof fd, sizeof fd);
            received.fds.emplace_back(fd);
        }
    }
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return Error{Blame::internal, "a request to the spawner is too long"};
    }
    received.ended = got == 0;
    received.message.resize(static_cast<std::size_t>(got));
    return received;
}

Status set_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return Error::from_errno(Blame::node, "preparing a descriptor");
    }
    return {};
}

}  // namespace stage
