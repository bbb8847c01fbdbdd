#include "transport/core/sending/control_queue.h"

#include "transport/base/invariant.h"
#include "transport/core/base/limits.h"

#include <utility>

namespace stage::core {

void ControlQueue::push(wire::PacketType type,
                        Destination to,
                        std::vector<std::byte> body,
                        std::uint8_t flags,
                        std::uint16_t copies) {
    invariant(body.size() <= wire::kMaxBodyBytes || type == wire::PacketType::offer,
              "a control packet fits the smallest MTU");
    if (queue_.size() >= packets_max_) {
        return;
    }
    Send send;
    send.type = type;
    send.flags = flags;
    send.to = to;
    send.body = std::move(body);
    send.count = copies;
    queue_.push_back(std::move(send));
}

std::uint64_t ControlQueue::drain(SendBatch& batch, Numbering& numbers) {
    std::uint64_t bytes = 0;
    while (!queue_.empty() && !batch.full()) {
        Send send = std::move(queue_.front());
        queue_.pop_front();
        send.packet_number = numbers.take(send.count);
        bytes += send.count * (send.body.size() + kWireOverheadBytes);
        batch.packets += send.count;
        batch.sends.push_back(std::move(send));
    }
    return bytes;
}

}  // namespace stage::core
