#include "transport/hop/hop_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stage::hop {
namespace {

struct alignas(cmsghdr) OverflowNote {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint32_t))> bytes;
};

/// How many datagrams the socket's buffer had no room for, if the message has it (SO_RXQ_OVFL).
std::uint32_t overflow_in(msghdr& message) {
    std::uint32_t overflow = 0;
    for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            std::memcpy(&overflow, CMSG_DATA(c), sizeof overflow);
        }
    }
    return overflow;
}

bool is_full(int error) {
    return error == EAGAIN || error == ENOBUFS;
}

}  // namespace

HopSocket::HopSocket(UniqueFd socket) : socket_{std::move(socket)}, slots_(kBatch) {
}

std::size_t HopSocket::receive(
    DriverCounters& counters,
    const std::function<void(const Address& from, Bytes datagram)>& hear) {
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> pieces{};
    std::array<sockaddr_storage, kBatch> senders;
    std::array<OverflowNote, kBatch> notes;
    for (std::size_t i = 0; i < kBatch; ++i) {
        pieces[i] = {.iov_base = slots_[i].data(), .iov_len = slots_[i].size()};
        messages[i].msg_hdr.msg_name = &senders[i];
        messages[i].msg_hdr.msg_namelen = sizeof senders[i];
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_control = &notes[i];
        messages[i].msg_hdr.msg_controllen = sizeof notes[i];
    }
    const int count = ::recvmmsg(socket_.get(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
    ++counters.receive_calls;
    for (std::size_t i = 0; std::cmp_less(i, count); ++i) {
        const auto from = Address::from_socket(reinterpret_cast<const sockaddr*>(&senders[i]),
                                               messages[i].msg_hdr.msg_namelen);
        const bool is_whole = (messages[i].msg_hdr.msg_flags & MSG_TRUNC) == 0;
        const std::uint32_t overflow = std::max(overflow_in(messages[i].msg_hdr), overflow_);
        counters.socket_overflow += overflow - std::exchange(overflow_, overflow);
        ++counters.packets_received;
        counters.bytes_received += messages[i].msg_len;
        if (from && is_whole) {
            hear(*from, Bytes{slots_[i]}.first(messages[i].msg_len));
        }
    }
    return static_cast<std::size_t>(std::max(count, 0));
}

bool HopSocket::send(DriverCounters& counters,
                     const SocketAddress& to,
                     Bytes bytes,
                     std::size_t datagram_bytes) {
    counters.bytes_sent += bytes.size();
    const std::size_t count = (bytes.size() + datagram_bytes - 1) / datagram_bytes;
    counters.packets_sent += count;
    if (segments_ && count > 1) {
        ++counters.send_calls;
        const int error = send_together(to, bytes, datagram_bytes);
        if (segments_) {
            counters.send_refused += error != 0 ? count : 0;
            return !is_full(error);
        }
    }
    bool has_room = true;
    for (std::size_t at = 0; at < bytes.size(); at += datagram_bytes) {
        const Bytes one = bytes.subspan(at, std::min(datagram_bytes, bytes.size() - at));
        ++counters.send_calls;
        if (::sendto(socket_.get(), one.data(), one.size(), MSG_DONTWAIT, to.get(), to.length) <
            0) {
            ++counters.send_refused;
            has_room = has_room && !is_full(errno);
        }
    }
    return has_room;
}

/// If the kernel or the device can't cut a batch, it is never asked again.
int HopSocket::send_together(const SocketAddress& to, Bytes bytes, std::size_t datagram_bytes) {
    iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
    msghdr message{};
    message.msg_name = const_cast<sockaddr*>(to.get());
    message.msg_namelen = to.length;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(datagram_bytes);
    std::memcpy(CMSG_DATA(header), &segment, sizeof segment);
    if (::sendmsg(socket_.get(), &message, MSG_DONTWAIT) >= 0) {
        return 0;
    }
    segments_ = errno != EIO && errno != EINVAL && errno != EOPNOTSUPP;
    return errno;
}

void DatagramBatch::add(Bytes datagram) {
    if (used_ > 0 && (datagram.size() > size_ || used_ + datagram.size() > room_.size() ||
                      used_ / size_ >= HopSocket::kBatch)) {
        leave();
    }
    size_ = used_ == 0 ? datagram.size() : size_;
    std::ranges::copy(datagram, room_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += datagram.size();
    if (datagram.size() < size_) {
        leave();
    }
}

void DatagramBatch::leave() {
    if (used_ > 0 && !socket_.send(counters_, to_, Bytes{room_}.first(used_), size_)) {
        is_refused_ = true;
    }
    used_ = 0;
}

}  // namespace stage::hop
