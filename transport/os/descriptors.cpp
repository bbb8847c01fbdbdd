#include "transport/os/descriptors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace stage {
namespace {

using Control = std::array<std::byte, CMSG_SPACE(kMaxDescriptors * sizeof(int))>;

std::vector<UniqueFd> take_descriptors(msghdr& header) {
    std::vector<UniqueFd> fds;
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            fds.emplace_back(fd);
        }
    }
    return fds;
}

}  // namespace

Status send_with_descriptors(
    int socket, Bytes message, std::span<const int> fds, int flags, std::string_view doing) {
    invariant(fds.size() <= kMaxDescriptors, "few descriptors travel at once");
    // sendmsg() only reads it.
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
        sent = ::sendmsg(socket, &header, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? Status{Error::from_errno(Blame::internal, doing)} : Status{};
}

Result<Received> receive_with_descriptors(int socket,
                                          std::size_t bytes_max,
                                          std::size_t fds_max,
                                          std::string_view doing) {
    invariant(fds_max <= kMaxDescriptors, "few descriptors travel at once");
    Received received;
    received.message.resize(bytes_max);
    iovec part{.iov_base = received.message.data(), .iov_len = received.message.size()};
    alignas(cmsghdr) Control control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = fds_max > 0 ? control.data() : nullptr;
    header.msg_controllen = fds_max > 0 ? CMSG_SPACE(fds_max * sizeof(int)) : 0;
    ssize_t got = -1;
    do {
        got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return Error::from_errno(Blame::internal, doing);
    }
    received.fds = take_descriptors(header);
    received.is_cut = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    received.ended = got == 0;
    received.message.resize(static_cast<std::size_t>(got));
    return received;
}

Result<UniqueFd> file_in_memory(const char* name, Bytes bytes) {
    UniqueFd file{::memfd_create(name, MFD_CLOEXEC)};
    std::size_t done = 0;
    while (file && done < bytes.size()) {
        const ssize_t count = ::pwrite(
            file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (count < 0 && errno != EINTR) {
            file.reset();
        }
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    if (!file) {
        return Error::from_errno(Blame::internal, "filling a file in memory");
    }
    return file;
}

Result<std::vector<std::byte>> read_first(int file, std::size_t length) {
    constexpr std::size_t kPiece = 1U << 20U;  // A file may be much shorter than allowed.
    std::vector<std::byte> bytes;
    std::size_t done = 0;
    while (done < length) {
        bytes.resize(std::min(length, done + kPiece));
        const ssize_t count =
            ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (count < 0 && errno != EINTR) {
            return Error::from_errno(Blame::internal, "reading a file");
        }
        if (count == 0) {
            break;
        }
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    bytes.resize(done);
    return bytes;
}

Status set_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return Error::from_errno(Blame::node, "preparing a descriptor");
    }
    return {};
}

}  // namespace stage
