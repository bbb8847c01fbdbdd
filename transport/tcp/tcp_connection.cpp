#include "transport/tcp/tcp_connection.h"

#include "transport/base/codec.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace stage::tcp {
namespace {

constexpr std::size_t kRoomBytes = 512U << 10U;
constexpr std::size_t kFrameBytesMax = 1U << 20U;
/// A READY and everything around it.
constexpr std::size_t kFirstPacketBytes = 128;

bool is_momentary(int cause) {
    return cause == EAGAIN || cause == EINTR;
}

}  // namespace

TcpConnection::TcpConnection(UniqueFd socket, std::size_t packet_bytes_max)
    : socket_{std::move(socket)}, packet_bytes_max_{packet_bytes_max} {
}

void TcpConnection::forget_packets() {
    if (cut_ > 0) {
        std::memmove(room_.get(), room_.get() + cut_, filled_ - cut_);
        filled_ -= cut_;
        cut_ = 0;
    }
}

bool TcpConnection::read(std::vector<ReceivedPacket>& packets) {
    if (!room_) {
        room_ = std::make_unique_for_overwrite<std::byte[]>(kRoomBytes);
    }
    const std::size_t wanted = wanted_bytes();
    if (wanted == 0) {
        return true;
    }
    const ::ssize_t got = ::recv(socket_.get(), room_.get() + filled_, wanted, 0);
    if (got <= 0) {
        was_reset_ = got < 0 && errno == ECONNRESET;
        return got < 0 && is_momentary(errno);
    }
    filled_ += static_cast<std::size_t>(got);
    is_heard_ = true;
    return cut(packets);
}

/// One frame of a peer that is not proved, and no byte of the next.
std::size_t TcpConnection::wanted_bytes() const {
    if (packet_bytes_max_ > 0) {
        return kRoomBytes - filled_;
    }
    if (has_first_) {
        return 0;
    }
    return (frame_left_ > 0 ? frame_left_ : kFrameHeaderBytes) - (filled_ - cut_);
}

/// False if what arrived is not a frame of this protocol.
bool TcpConnection::cut(std::vector<ReceivedPacket>& packets) {
    while (true) {
        if (frame_left_ == 0) {
            if (filled_ - cut_ < kFrameHeaderBytes) {
                return true;
            }
            ByteReader header{Bytes{room_.get() + cut_, kFrameHeaderBytes}};
            frame_left_ = header.u32();
            packet_bytes_ = header.u32();
            const bool is_first = packet_bytes_max_ == 0;
            if (frame_left_ == 0 || (is_first && packet_bytes_ == 0) ||
                frame_left_ > (is_first ? kFirstPacketBytes : kFrameBytesMax) ||
                packet_bytes_ > (is_first ? kFirstPacketBytes : packet_bytes_max_)) {
                return false;
            }
            cut_ += kFrameHeaderBytes;
        }
        const bool is_filling = packet_bytes_ == 0;
        const std::size_t here = filled_ - cut_;
        const std::size_t bytes = std::min(is_filling ? here : packet_bytes_, frame_left_);
        if (bytes == 0 || here < bytes) {
            return true;
        }
        if (!is_filling) {
            packets.push_back({.bytes = MutableBytes{room_.get() + cut_, bytes}});
            has_first_ = true;
        }
        cut_ += bytes;
        frame_left_ -= bytes;
    }
}

bool TcpConnection::send(const Train& train) {
    ByteWriter header;
    header.u32(static_cast<std::uint32_t>(train.bytes)).u32(train.packet_bytes);
    const std::vector<std::byte> head = header.take();
    std::array<Bytes, kTrainPiecesMax + 1> pieces;
    pieces[0] = head;
    std::ranges::copy(train.pieces, pieces.begin() + 1);
    const std::span all = std::span{pieces}.first(train.pieces.size() + 1);
    if (wants_to_write()) {
        keep(all, 0);
        return true;
    }
    std::array<iovec, kTrainPiecesMax + 1> vectors;
    std::ranges::transform(all, vectors.begin(), [](Bytes piece) {
        return iovec{.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
    });
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = all.size();
    const ::ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && !is_momentary(errno)) {
        return false;
    }
    const auto left = static_cast<std::size_t>(std::max<::ssize_t>(sent, 0));
    if (left < train.bytes + kFrameHeaderBytes) {
        keep(all, left);
    }
    return true;
}

void TcpConnection::keep(std::span<const Bytes> pieces, std::size_t sent) {
    for (const Bytes piece : pieces) {
        const std::size_t skipped = std::min(sent, piece.size());
        sent -= skipped;
        const Bytes rest = piece.subspan(skipped);
        waiting_.insert(waiting_.end(), rest.begin(), rest.end());
    }
}

bool TcpConnection::flush() {
    while (!is_drained()) {
        const ::ssize_t sent = ::send(socket_.get(),
                                      waiting_.data() + waiting_from_,
                                      waiting_.size() - waiting_from_,
                                      MSG_NOSIGNAL);
        if (sent < 0) {
            return is_momentary(errno);
        }
        waiting_from_ += static_cast<std::size_t>(sent);
    }
    waiting_.clear();
    waiting_from_ = 0;
    return true;
}

}  // namespace stage::tcp
