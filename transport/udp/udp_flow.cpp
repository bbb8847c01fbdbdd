#include "transport/udp/udp_flow.h"

#include <utility>

namespace stage::udp {
namespace {

constexpr std::uint32_t kLookEvery = 16;

}  // namespace

UdpFlow::UdpFlow(UniqueFd socket, std::size_t slots)
    : owner_{std::move(socket)}, socket_{.fd = owner_.get(), .is_group = true} {
    for (std::size_t set = 0; set < kFlowSets; ++set) {
        sets_.emplace_back(slots);
    }
}

Status UdpFlow::receive(std::size_t set, std::vector<ReceivedPacket>& packets) {
    PacketSlots& slots = sets_[set];
    slots.clear();
    Status filled = slots.fill(socket_, slots.free(), counters_, packets);
    // How full the buffer still is is seen where a batch had no room left; else nothing is.
    counters_.group_fill = 0;
    if (slots.free() == 0 || ++receives_ % kLookEvery == 1) {
        look_at(socket_, counters_);
        counters_.socket_bytes_max = std::max(counters_.socket_bytes_max, socket_.bytes);
    }
    return filled;
}

}  // namespace stage::udp
