#include "transport/udp/udp_driver.h"

#include "transport/base/invariant.h"

#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

namespace stage::udp {
namespace {

constexpr std::uint32_t kLookEvery = 16;  ///< Calls of receive() between looks at the peers'.
constexpr std::size_t kSlotBytes = 65536;
constexpr std::size_t kSlots = 24;  ///< 1.5 MB of buffers; a batch of one receive().

/// A socket call's refusal that another packet may not meet: losing it is what the protocol is
/// for.
bool is_loss(int cause) {
    return cause == ECONNREFUSED || cause == EHOSTUNREACH || cause == ENETUNREACH ||
           cause == EPERM || cause == ENOBUFS || cause == EHOSTDOWN;
}

/// The calls that send only read what these point at.
iovec to_iovec(Bytes piece) {
    return {const_cast<std::byte*>(piece.data()), piece.size()};
}

/// Gives a train's bytes in cuts that end where a piece does, or sooner.
class PieceCutter {
  public:
    explicit PieceCutter(std::span<const Bytes> pieces) : pieces_{pieces} {}

    [[nodiscard]] Bytes next(std::size_t at_most) {
        while (rest_.empty()) {
            rest_ = pieces_.front();
            pieces_ = pieces_.subspan(1);
        }
        const Bytes cut = rest_.first(std::min(at_most, rest_.size()));
        rest_ = rest_.subspan(cut.size());
        return cut;
    }

  private:
    std::span<const Bytes> pieces_;
    Bytes rest_;
};

std::size_t packets_of(const Train& train) {
    return (train.bytes + train.packet_bytes - 1) / train.packet_bytes;
}

/// What the kernel needs to be told of a train, as long as it is being sent.
struct Envelope {
    std::vector<iovec> pieces;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};

    msghdr seal(const Train& train, const SocketAddress& target) {
        pieces.resize(train.pieces.size());
        std::ranges::transform(train.pieces, pieces.begin(), to_iovec);
        msghdr message{};
        message.msg_name = const_cast<sockaddr*>(target.get());
        message.msg_namelen = target.length;
        message.msg_iov = pieces.data();
        message.msg_iovlen = pieces.size();
        if (packets_of(train) > 1) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* segment = CMSG_FIRSTHDR(&message);
            segment->cmsg_level = IPPROTO_UDP;
            segment->cmsg_type = UDP_SEGMENT;
            segment->cmsg_len = CMSG_LEN(sizeof train.packet_bytes);
            std::memcpy(CMSG_DATA(segment), &train.packet_bytes, sizeof train.packet_bytes);
        }
        return message;
    }
};

bool is_full(int cause) {
    return cause == EAGAIN || cause == EINTR;
}

/// What the kernel holds for a socket, with its own share of it.
struct SocketMemory {
    std::uint64_t bytes = 0;  ///< In both directions.
    std::uint8_t fill = 0;    ///< Of the receive buffer, in 255ths.
};

SocketMemory memory_of(int socket) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) {
        return {};
    }
    const std::uint64_t received = memory[SK_MEMINFO_RMEM_ALLOC];
    const std::uint64_t room = std::max(memory[SK_MEMINFO_RCVBUF], 1U);
    return {
        .bytes = received + memory[SK_MEMINFO_WMEM_ALLOC],
        .fill = static_cast<std::uint8_t>(std::min<std::uint64_t>(received * 255 / room, 255))};
}

}  // namespace

struct UdpDriver::Slot {
    /// Its pages are taken as packets need them: few do in a small broadcast.
    std::unique_ptr<std::byte[]> bytes =
        std::make_unique_for_overwrite<std::byte[]>(kSlotBytes);
    alignas(cmsghdr)
        std::array<std::byte,
                   CMSG_SPACE(sizeof(int)) * 2 + CMSG_SPACE(sizeof(timespec))> control{};
    iovec room{};
    int segment_bytes = 0;
    std::uint32_t overflow = 0;
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
};

UdpDriver::UdpDriver(UdpEndpoints endpoints)
    : endpoints_{std::move(endpoints)},
      group_target_{endpoints_.group_address.to_socket()},
      slots_(kSlots),
      overflow_seen_(2) {
    for (const Address& member : endpoints_.members) {
        member_targets_.push_back(member.to_socket());
    }
    const int on = 1;
    for (const int socket : descriptors()) {
        static_cast<void>(::setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on));
        static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on));
    }
}

UdpDriver::~UdpDriver() = default;

std::vector<int> UdpDriver::descriptors() const {
    std::vector<int> sockets{endpoints_.peer.get()};
    if (endpoints_.group) {
        sockets.push_back(endpoints_.group.get());
    }
    return sockets;
}

Status UdpDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    slots_used_ = 0;
    if (++receives_ % kLookEvery == 1) {
        look_at(false);
        look_at(true);
    }
    if (readable.peers) {
        if (auto heard = receive_from(endpoints_.peer.get(), false, packets); !heard) {
            return heard;
        }
    }
    return readable.stream && endpoints_.group
               ? receive_from(endpoints_.group.get(), true, packets)
               : Status{};
}

/// What one of the sockets holds now, beside what the other one was last seen to hold.
void UdpDriver::look_at(bool is_group) {
    if (is_group && !endpoints_.group) {
        return;
    }
    const SocketMemory memory =
        memory_of(is_group ? endpoints_.group.get() : endpoints_.peer.get());
    socket_bytes_[is_group ? 1 : 0] = memory.bytes;
    counters_.socket_bytes_max =
        std::max(counters_.socket_bytes_max, socket_bytes_[0] + socket_bytes_[1]);
    if (is_group) {
        counters_.group_fill = memory.fill;
    }
}

/// How full the group's buffer still is: where a batch had room left, nothing is.
void UdpDriver::look_behind(bool is_batch_full) {
    if (is_batch_full) {
        look_at(true);
    } else {
        counters_.group_fill = 0;
    }
}

/// One recvmmsg: half of the slots for the peers' socket, what is left for the group's.
Status UdpDriver::receive_from(int socket,
                               bool is_group,
                               std::vector<ReceivedPacket>& packets) {
    const std::size_t room = is_group ? slots_.size() - slots_used_ : slots_.size() / 2;
    std::array<mmsghdr, kSlots> messages{};
    for (std::size_t i = 0; i < room; ++i) {
        messages[i].msg_hdr = slots_[slots_used_ + i].header();
    }
    const int got =
        ::recvmmsg(socket, messages.data(), static_cast<unsigned>(room), MSG_DONTWAIT, nullptr);
    ++counters_.receive_calls;
    if (got < 0) {
        // An ICMP answer to something sent earlier shows up here; it is not about this call.
        return is_full(errno) || is_loss(errno)
                   ? Status{}
                   : Status{Error::from_errno(Blame::node, "receiving from the network")};
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        Slot& slot = slots_[slots_used_ + i];
        slot.read_control(messages[i].msg_hdr);
        auto& seen = overflow_seen_[is_group ? 1 : 0];
        counters_.socket_overflow += slot.overflow > seen ? slot.overflow - seen : 0;
        seen = std::max(seen, slot.overflow);
        split(slot, {slot.bytes.get(), messages[i].msg_len}, is_group, packets);
    }
    slots_used_ += static_cast<std::size_t>(got);
    if (is_group && got > 0) {
        look_behind(static_cast<std::size_t>(got) == room);
    }
    return {};
}

void UdpDriver::split(const Slot& slot,
                      MutableBytes bytes,
                      bool is_group,
                      std::vector<ReceivedPacket>& packets) {
    counters_.bytes_received += bytes.size();
    const std::size_t segment =
        slot.segment_bytes > 0 ? static_cast<std::size_t>(slot.segment_bytes) : bytes.size();
    while (!bytes.empty()) {
        const std::size_t size = std::min(segment, bytes.size());
        packets.push_back(
            {.bytes = bytes.first(size), .to_group = is_group, .stamp_ns = slot.stamp_ns});
        bytes = bytes.subspan(size);
        ++counters_.packets_received;
    }
}

const SocketAddress& UdpDriver::target_of(const Train& train) const {
    return train.target.to_group ? group_target_ : member_targets_[train.target.peer.index()];
}

void UdpDriver::count_sent(const Train& train) {
    counters_.packets_sent += packets_of(train);
    counters_.bytes_sent += train.bytes;
}

Result<Sent> UdpDriver::send(const Train& train) {
    invariant(train.packet_bytes > 0 && train.bytes > 0, "a train has packets");
    invariant(train.pieces.size() <= kTrainPiecesMax, "a train's pieces are counted");
    invariant(packets_of(train) <= kTrainPacketsMax, "a train has at most 64 packets");
    const SocketAddress& target = target_of(train);
    const bool segmented = can_segment_ && packets_of(train) > 1;
    auto sent = segmented ? send_segmented(train, target) : send_singly(train, target);
    if (sent && *sent == Sent::all) {
        count_sent(train);
    }
    return sent;
}

/// By one system call. What it refuses is tried, and judged, alone; then the others again.
Result<std::size_t> UdpDriver::send_together(std::span<const Train> trains) {
    if (trains.size() < 2 || !can_segment_) {
        return Driver::send_together(trains);
    }
    std::vector<Envelope> envelopes(trains.size());
    std::vector<mmsghdr> messages(trains.size());
    for (std::size_t i = 0; i < trains.size(); ++i) {
        messages[i].msg_hdr = envelopes[i].seal(trains[i], target_of(trains[i]));
    }
    ++counters_.send_calls;
    const int got = ::sendmmsg(endpoints_.peer.get(),
                               messages.data(),
                               static_cast<unsigned>(messages.size()),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    const auto sent = static_cast<std::size_t>(std::max(got, 0));
    std::ranges::for_each(trains.first(sent), [this](const Train& one) { count_sent(one); });
    if (sent == trains.size()) {
        return sent;
    }
    const auto rest = Driver::send_together(trains.subspan(sent));
    return rest ? Result<std::size_t>{sent + *rest} : rest;
}

Result<Sent> UdpDriver::send_segmented(const Train& train, const SocketAddress& target) {
    Envelope envelope;
    const msghdr message = envelope.seal(train, target);
    ++counters_.send_calls;
    if (::sendmsg(endpoints_.peer.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
        return Sent::all;
    }
    if (errno == EIO || errno == EINVAL || errno == EOPNOTSUPP) {
        can_segment_ = false;  // no checksum offload on the path, or an old kernel
        return send_singly(train, target);
    }
    return refused(train, "sending a train");
}

Result<Sent> UdpDriver::send_singly(const Train& train, const SocketAddress& target) {
    std::array<mmsghdr, kTrainPacketsMax> messages{};
    std::array<iovec, kTrainPiecesMax + kTrainPacketsMax> cuts{};
    unsigned count = 0;
    std::size_t used = 0;
    PieceCutter cutter{train.pieces};
    for (std::size_t left = train.bytes; left > 0; ++count) {
        const std::size_t size = std::min<std::size_t>(train.packet_bytes, left);
        auto& header = messages[count].msg_hdr;
        header.msg_name = const_cast<sockaddr*>(target.get());
        header.msg_namelen = target.length;
        header.msg_iov = &cuts[used];
        for (std::size_t missing = size; missing > 0; ++used) {
            const Bytes cut = cutter.next(missing);
            cuts[used] = to_iovec(cut);
            missing -= cut.size();
        }
        header.msg_iovlen = static_cast<std::size_t>(&cuts[used] - header.msg_iov);
        left -= size;
    }
    ++counters_.send_calls;
    const int sent =
        ::sendmmsg(endpoints_.peer.get(), messages.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL);
    // A train that left in part counts as sent: the rest is lost, and repaired like any loss.
    return sent > 0 ? Result<Sent>{Sent::all} : refused(train, "sending packets");
}

Result<Sent> UdpDriver::refused(const Train& train, const char* doing) {
    const int cause = errno;
    if (is_full(cause)) {
        ++counters_.send_refused;
        return Sent::would_block;
    }
    if (is_loss(cause)) {
        return Sent::all;
    }
    const Address& where = train.target.to_group
                               ? endpoints_.group_address
                               : endpoints_.members[train.target.peer.index()];
    return Error::from_errno(Blame::node, doing, cause).within(where.to_string());
}

}  // namespace stage::udp
