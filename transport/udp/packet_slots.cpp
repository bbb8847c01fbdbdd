#include "transport/udp/packet_slots.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

namespace stage::udp {
namespace {

constexpr std::size_t kSlotBytes = 65536;
constexpr std::size_t kAtOnce = 24;  ///< 1.5 MB; pieces of one call.

}  // namespace

bool is_loss(int cause) {
    return !is_full(cause) && cause != EBADF && cause != ENOTSOCK && cause != EFAULT &&
           cause != EPIPE && cause != ENOTCONN;
}

bool is_full(int cause) {
    return cause == EAGAIN || cause == EINTR;
}

void tune_to_receive(int socket) {
    const int on = 1;
    static_cast<void>(::setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on));
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on));
}

void look_at(ReadSocket& socket, DriverCounters& counters) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket.fd, SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) {
        return;
    }
    const std::uint64_t received = memory[SK_MEMINFO_RMEM_ALLOC];
    const std::uint64_t room = std::max(memory[SK_MEMINFO_RCVBUF], 1U);
    socket.bytes = received + memory[SK_MEMINFO_WMEM_ALLOC];
    if (socket.is_group) {
        counters.group_fill =
            static_cast<std::uint8_t>(std::min<std::uint64_t>(received * 255 / room, 255));
    }
}

struct PacketSlots::Slot {
    std::unique_ptr<std::byte[]> bytes =
        std::make_unique_for_overwrite<std::byte[]>(kSlotBytes);
    alignas(cmsghdr)
        std::array<std::byte,
                   CMSG_SPACE(sizeof(int)) * 2 + CMSG_SPACE(sizeof(timespec))> control{};
    iovec room{};
    int segment_bytes = 0;
    std::uint32_t overflow = 0;  ///< 0: the kernel did not report it.
    std::int64_t stamp_ns = 0;

    msghdr header() {
        room = {.iov_base = bytes.get(), .iov_len = kSlotBytes};
        msghdr message{};
        message.msg_iov = &room;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        return message;
    }

    void read_control(msghdr& message) {
        segment_bytes = 0;
        overflow = 0;
        stamp_ns = 0;
        for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
                std::memcpy(&segment_bytes, CMSG_DATA(c), sizeof segment_bytes);
            } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
                std::memcpy(&overflow, CMSG_DATA(c), sizeof overflow);
            } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
                timespec time{};
                std::memcpy(&time, CMSG_DATA(c), sizeof time);
                stamp_ns = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
            }
        }
    }

    /// Its packets, one of the sender's segments each.
    void split(std::size_t size,
               bool is_group,
               DriverCounters& counters,
               std::vector<ReceivedPacket>& packets) {
        MutableBytes rest{bytes.get(), size};
        counters.bytes_received += size;
        const std::size_t segment =
            segment_bytes > 0 ? static_cast<std::size_t>(segment_bytes) : size;
        while (!rest.empty()) {
            const std::size_t next = std::min(segment, rest.size());
            packets.push_back(
                {.bytes = rest.first(next), .to_group = is_group, .stamp_ns = stamp_ns});
            rest = rest.subspan(next);
            ++counters.packets_received;
        }
    }
};

PacketSlots::PacketSlots(std::size_t count) : slots_(count) {
}
PacketSlots::~PacketSlots() = default;
PacketSlots::PacketSlots(PacketSlots&&) noexcept = default;
PacketSlots& PacketSlots::operator=(PacketSlots&&) noexcept = default;

std::size_t PacketSlots::free() const {
    return slots_.size() - used_;
}

Status PacketSlots::fill(ReadSocket& socket,
                         std::size_t room,
                         DriverCounters& counters,
                         std::vector<ReceivedPacket>& packets) {
    std::array<mmsghdr, kAtOnce> messages{};
    const std::size_t most = std::min({room, free(), messages.size()});
    for (std::size_t i = 0; i < most; ++i) {
        messages[i].msg_hdr = slots_[used_ + i].header();
    }
    const int got = ::recvmmsg(
        socket.fd, messages.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    ++counters.receive_calls;
    if (got < 0) {
        // An ICMP answer to something sent earlier shows up here; it is not about this call.
        return is_full(errno) || is_loss(errno)
                   ? Status{}
                   : Status{Error::from_errno(Blame::node, "receiving from the network")};
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        Slot& slot = slots_[used_ + i];
        slot.read_control(messages[i].msg_hdr);
        counters.socket_overflow +=
            slot.overflow > socket.overflow ? slot.overflow - socket.overflow : 0;
        socket.overflow = std::max(socket.overflow, slot.overflow);
        slot.split(messages[i].msg_len, socket.is_group, counters, packets);
    }
    used_ += static_cast<std::size_t>(got);
    return {};
}

}  // namespace stage::udp
