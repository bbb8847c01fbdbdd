#include "transport/verbs/receive_ring.h"

#include "transport/base/invariant.h"
#include "transport/verbs/route_header.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace stage::verbs {
namespace {

constexpr std::size_t kAtOnce = 64;
/// Datagrams of any length have room: for some devices one without is an error of the receiver.
constexpr std::size_t kStride = 4160;
static_assert(kStride >= kRouteHeaderBytes + 4096);

}  // namespace

Result<ReceiveRing> ReceiveRing::make(DevicePort& port, std::uint32_t buffers) {
    ReceiveRing ring;
    ring.buffers_ = std::min(buffers, port.facts().requests_max);
    ring.stride_ = kStride;
    ring.own_gid_ = port.facts().gid;
    TRY(ring.memory_, port.memory(ring.stride_ * ring.buffers_));
    TRY(ring.queue_, port.completion_queue(ring.buffers_));
    return ring;
}

Status ReceiveRing::start(QueuePair& queue_pair, std::uint32_t own_number) {
    queue_pair_ = &queue_pair;
    own_number_ = own_number;
    std::vector<std::uint64_t> all(buffers_);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return post(all);
}

Status ReceiveRing::post(std::span<const std::uint64_t> which) {
    std::array<ReceiveRequest, kAtOnce> requests;
    while (!which.empty()) {
        const std::size_t count = std::min(which.size(), requests.size());
        for (std::size_t i = 0; i < count; ++i) {
            requests[i] = {.id = which[i],
                           .room = memory_->bytes().subspan(which[i] * stride_, stride_)};
        }
        TRY(queue_pair_->receive(std::span{requests}.first(count)));
        which = which.subspan(count);
    }
    return {};
}

Status ReceiveRing::repost() {
    TRY(post(lent_));
    lent_.clear();
    return {};
}

/// A ring without a free buffer has probably lost packets; their number is not known.
Status ReceiveRing::poll(DriverCounters* counters) {
    if (failure_ != nullptr) {
        return Error{Blame::node, std::string{"receiving from the RDMA device: "} + failure_};
    }
    std::array<Completion, kAtOnce> found;
    std::size_t count = found.size();
    while (count == found.size()) {
        TRY(count, queue_->poll(found));
        for (const Completion& one : std::span{found}.first(count)) {
            if (one.failure != nullptr) {
                failure_ = one.failure;
                return poll(counters);
            }
            waiting_.push_back(one);
        }
    }
    // (An event may come after the completion that it is for was found.)
    if (is_armed_) {
        is_armed_ = !queue_->take_event();
    }
    const bool is_full = waiting_.size() + lent_.size() >= buffers_;
    if (counters != nullptr && is_full && !was_full_) {
        ++counters->socket_overflow;
        was_full_ = true;
    } else if (!is_full) {
        was_full_ = false;
    }
    return {};
}

bool ReceiveRing::is_own(const Completion& one) const {
    return one.source == own_number_ &&
           is_from(memory_->bytes().subspan(one.id * stride_, kRouteHeaderBytes), own_gid_);
}

Status ReceiveRing::take(std::size_t room,
                         bool to_group,
                         DriverCounters& counters,
                         std::vector<ReceivedPacket>& packets) {
    ++counters.receive_calls;
    TRY(poll(&counters));
    for (std::size_t left = std::min(room, waiting_.size()); left > 0; --left) {
        const Completion one = waiting_.front();
        waiting_.pop_front();
        lent_.push_back(one.id);
        invariant(one.id < buffers_ && one.bytes <= stride_, "a completion is of a buffer");
        if (one.bytes <= kRouteHeaderBytes || is_own(one)) {
            continue;
        }
        const std::size_t bytes = one.bytes - kRouteHeaderBytes;
        packets.push_back(
            {.bytes = memory_->bytes().subspan(one.id * stride_ + kRouteHeaderBytes, bytes),
             .to_group = to_group});
        ++counters.packets_received;
        counters.bytes_received += bytes;
    }
    return {};
}

/// What arrives between the last poll and arm() makes no event: it is looked for once more. An
/// event of what was found before ends the arming, which begins again then.
Result<bool> ReceiveRing::prepare_wait() {
    while (waiting_.empty()) {
        if (is_armed_) {
            return true;
        }
        TRY(queue_->arm());
        is_armed_ = true;
        TRY(poll(nullptr));
    }
    return false;
}

std::uint8_t ReceiveRing::fill() const {
    return static_cast<std::uint8_t>(waiting_.size() * 255 / std::max(buffers_, 1U));
}

}  // namespace stage::verbs
