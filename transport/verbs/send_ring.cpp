#include "transport/verbs/send_ring.h"

#include "transport/base/invariant.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace stage::verbs {

Result<SendRing> SendRing::make(DevicePort& port, std::uint32_t buffers) {
    SendRing ring;
    ring.buffers_ = std::min(buffers, port.facts().requests_max);
    if (ring.buffers_ < kTrainPacketsMax) {
        return Error{Blame::node,
                     port.facts().name + " has queues of " + std::to_string(ring.buffers_) +
                         " requests only"};
    }
    ring.stride_ = port.facts().mtu;
    TRY(ring.memory_, port.memory(ring.stride_ * ring.buffers_));
    TRY(ring.queue_, port.completion_queue(ring.buffers_));
    return ring;
}

/// A completion's id is the number of buffers that were ever used up to its train.
Status SendRing::free_sent() {
    std::array<Completion, 16> found;
    std::size_t count = found.size();
    while (count == found.size()) {
        TRY(count, queue_->poll(found));
        for (const Completion& one : std::span{found}.first(count)) {
            if (one.failure != nullptr) {
                return Error{Blame::node,
                             std::string{"sending by the RDMA device: "} + one.failure};
            }
            freed_ = std::max(freed_, one.id);
        }
    }
    // (An event may come after the completion that it is for was found.)
    if (is_armed_) {
        is_armed_ = !queue_->take_event();
    }
    return {};
}

Result<bool> SendRing::make_room(std::uint64_t packets) {
    const auto has_room = [&] { return used_ - freed_ + packets <= buffers_; };
    if (has_room()) {
        return true;
    }
    TRY(free_sent());
    while (!has_room() && !is_armed_) {
        TRY(queue_->arm());
        is_armed_ = true;
        TRY(free_sent());  // (Which may take the event of a train that frees too little.)
    }
    return has_room();
}

void SendRing::drain() {
    constexpr int kLongestMs = 50;
    for (int waits = 0; used_ != freed_ && waits < 2; ++waits) {
        pollfd wait{.fd = queue_->descriptor(), .events = POLLIN, .revents = 0};
        if (!queue_->arm() || !free_sent() || used_ == freed_) {
            return;
        }
        is_armed_ = true;
        static_cast<void>(::poll(&wait, 1, kLongestMs));
        static_cast<void>(free_sent());
    }
}

/// Copies the packets and describes them.
void SendRing::fill(const Train& train, const SendTarget& to) {
    requests_.clear();
    std::span<const Bytes> pieces = train.pieces;
    Bytes piece{};
    for (std::size_t left = train.bytes; left > 0;) {
        const std::size_t size = std::min<std::size_t>(train.packet_bytes, left);
        const MutableBytes buffer =
            memory_->bytes().subspan((used_ % buffers_) * stride_, size);
        for (std::size_t filled = 0; filled < size;) {
            while (piece.empty()) {
                piece = pieces.front();
                pieces = pieces.subspan(1);
            }
            const std::size_t cut = std::min(size - filled, piece.size());
            std::memcpy(buffer.data() + filled, piece.data(), cut);
            piece = piece.subspan(cut);
            filled += cut;
        }
        left -= size;
        ++used_;
        requests_.push_back({.id = used_,
                             .datagram = buffer,
                             .to = to.handle,
                             .queue_pair = to.queue_pair,
                             .qkey = to.qkey,
                             .is_signalled = left == 0});
    }
}

Result<Sent> SendRing::send(QueuePair& by, const Train& train, const SendTarget& to) {
    invariant(train.packet_bytes > 0 && train.packet_bytes <= stride_, "a packet has room");
    const std::size_t packets = (train.bytes + train.packet_bytes - 1) / train.packet_bytes;
    invariant(packets > 0 && packets <= kTrainPacketsMax, "a train has at most 64 packets");
    TRY(const bool has_room, make_room(packets));
    if (!has_room) {
        return Sent::would_block;
    }
    fill(train, to);
    TRY(by.send(requests_));
    return Sent::all;
}

}  // namespace stage::verbs
