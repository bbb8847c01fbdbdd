// Sends and receives the datagrams of worker_setup.h; a long message travels as a memfd.
#include "stager/messages/worker_setup.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace stage {
namespace {

/// The first byte of every datagram: the message is inside, or in a file beside it.
enum class Carriage : std::uint8_t { inside = 1, memfd = 2 };

constexpr std::size_t kMemfdHead = 1 + sizeof(std::uint64_t);
/// As many as the kernel lets a process send: descriptors beyond that would be closed by the
/// kernel in this very thread.
constexpr std::size_t kMaxDescriptors = 253;

Error internal_errno(std::string_view doing, int cause = errno) {
    return Error::from_errno(Blame::internal, doing, cause);
}

/// One datagram, with a descriptor beside it unless `descriptor` is -1.
Status send_datagram(int fd, Bytes datagram, int descriptor) {
    iovec part{};
    // sendmsg() does not write to it.
    part.iov_base = const_cast<std::byte*>(datagram.data());  // NOLINT
    part.iov_len = datagram.size();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    if (descriptor >= 0) {
        head.msg_control = room.data();
        head.msg_controllen = room.size();
        cmsghdr* control = CMSG_FIRSTHDR(&head);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
    }
    for (;;) {
        if (::sendmsg(fd, &head, MSG_NOSIGNAL) >= 0) {
            return {};
        }
        if (errno != EINTR) {
            return internal_errno("sending to the control socket");
        }
    }
}

Result<UniqueFd> filled_memfd(Bytes message) {
    UniqueFd file{::memfd_create("stagecast-setup", MFD_CLOEXEC)};
    if (!file) {
        return internal_errno("memfd_create");
    }
    std::size_t done = 0;
    while (done < message.size()) {
        const ssize_t count = ::pwrite(
            file.get(), message.data() + done, message.size() - done, static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return internal_errno("writing a memfd");
        }
        done += static_cast<std::size_t>(count);
    }
    return file;
}

/// Read, not mapped: the sender can still truncate it.
Result<std::vector<std::byte>> read_memfd(int file, std::size_t length) {
    std::vector<std::byte> message(length);
    std::size_t done = 0;
    while (done < length) {
        const ssize_t count =
            ::pread(file, message.data() + done, length - done, static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return Error{Blame::internal,
                         "a control message is shorter than its announced length"};
        }
        done += static_cast<std::size_t>(count);
    }
    return message;
}

/// Takes ownership of all descriptors of one control message.
void take_descriptors(const cmsghdr& control, std::vector<UniqueFd>& taken) {
    if (control.cmsg_level != SOL_SOCKET || control.cmsg_type != SCM_RIGHTS) {
        return;
    }
    const std::size_t count = (control.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(&control) + i * sizeof(int), sizeof(int));
        taken.emplace_back(descriptor);
    }
}

/// The descriptor beside the message, if there is one. More than one is an error.
Result<UntrustedFd> the_descriptor(msghdr& head, const CloserPtr& closer) {
    std::vector<UniqueFd> taken;
    for (cmsghdr* control = CMSG_FIRSTHDR(&head); control != nullptr;
         control = CMSG_NXTHDR(&head, control)) {
        take_descriptors(*control, taken);
    }
    if (taken.size() > 1) {
        closer->close(std::move(taken));
        return Error{Blame::internal, "a control datagram has too many descriptors"};
    }
    return taken.empty() ? UntrustedFd{} : UntrustedFd{std::move(taken.front()), closer};
}

Result<PeerMessage> unpack(Bytes datagram, UntrustedFd file, std::size_t limit) {
    ByteReader reader{datagram};
    const auto carriage = static_cast<Carriage>(reader.u8());
    if (carriage == Carriage::inside && reader.ok() && reader.left() <= limit) {
        const Bytes message = reader.raw(reader.left());
        return PeerMessage{
            PeerMessage::Kind::message, {message.begin(), message.end()}, std::move(file)};
    }
    const std::uint64_t length = reader.u64();
    const bool is_sound =
        carriage == Carriage::memfd && reader.finished() && length <= limit && file;
    if (!is_sound || !is_in_memory(file.get())) {
        return Error{Blame::internal, "a control datagram is malformed"};
    }
    Result<std::vector<std::byte>> message = read_memfd(file.get(), length);
    if (!message) {
        return std::move(message).error();
    }
    return PeerMessage{PeerMessage::Kind::message, std::move(*message), {}};
}

}  // namespace

Status send_to_peer(int fd, Bytes message, int descriptor) {
    ByteWriter writer;
    if (message.size() <= kMaxDatagram) {
        writer.u8(static_cast<std::uint8_t>(Carriage::inside)).raw(message);
        return send_datagram(fd, writer.view(), descriptor);
    }
    invariant(descriptor < 0, "a message with a descriptor is short");
    const Result<UniqueFd> file = filled_memfd(message);
    if (!file) {
        return file.error();
    }
    writer.u8(static_cast<std::uint8_t>(Carriage::memfd)).u64(message.size());
    return send_datagram(fd, writer.view(), file->get());
}

Result<PeerMessage> receive_from_peer(int fd, std::size_t limit, const CloserPtr& closer) {
    std::vector<std::byte> room(std::max(kMaxDatagram + 1, kMemfdHead));
    iovec part{room.data(), room.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    ssize_t count = 0;
    // If the peer left messages unread at its end, one reset is reported before its last
    // messages.
    bool is_reset_reported = false;
    do {
        count = ::recvmsg(fd, &head, MSG_CMSG_CLOEXEC);
    } while (count < 0 && (errno == EINTR ||
                           (errno == ECONNRESET && !std::exchange(is_reset_reported, true))));
    if (count < 0) {
        if (errno == EAGAIN) {
            return PeerMessage{PeerMessage::Kind::nothing_yet, {}, {}};
        }
        if (errno == ECONNRESET) {
            return PeerMessage{PeerMessage::Kind::closed, {}, {}};
        }
        return internal_errno("reading the control socket");
    }
    Result<UntrustedFd> file = the_descriptor(head, closer);
    if (count == 0) {
        return PeerMessage{PeerMessage::Kind::closed, {}, {}};
    }
    if ((static_cast<unsigned>(head.msg_flags) & static_cast<unsigned>(MSG_TRUNC)) != 0) {
        return Error{Blame::internal, "a control datagram is too long"};
    }
    if (!file) {
        return std::move(file).error();
    }
    return unpack(Bytes{room}.first(static_cast<std::size_t>(count)), *std::move(file), limit);
}

}  // namespace stage
