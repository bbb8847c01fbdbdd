// Queues a member's control packets, and numbers its packets.
//
// The queue is bounded. If it is full a new packet is dropped, as the network might have
// dropped it: every control packet is repeated until it has had its effect.
#pragma once

#include "transport/core/base/contract.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace stage::core {

/// Numbers a member's packets, each once, from 1.
class Numbering {
  public:
    [[nodiscard]] std::uint64_t take(std::uint64_t count) {
        const std::uint64_t first = next_;
        next_ += count;
        return first;
    }
    /// The last number taken, 0 if none.
    [[nodiscard]] std::uint64_t last() const { return next_ - 1; }

  private:
    std::uint64_t next_ = 1;
};

class ControlQueue {
  public:
    explicit ControlQueue(std::size_t packets_max) : packets_max_{packets_max} {}

    void push(wire::PacketType type,
              Destination to,
              std::vector<std::byte> body,
              std::uint8_t flags = 0,
              std::uint16_t copies = 1);
    /// `copies`: how often it is sent at once, each time with its own number.
    void push_group(wire::PacketType type,
                    std::vector<std::byte> body,
                    std::uint16_t copies = 1) {
        push(type, {.to_group = true, .peer = {}}, std::move(body), 0, copies);
    }
    void push_peer(wire::PacketType type,
                   Rank peer,
                   std::vector<std::byte> body,
                   std::uint8_t flags = 0) {
        push(type, {.to_group = false, .peer = peer}, std::move(body), flags);
    }

    /// Moves what fits into `batch`, numbered. Returns its bytes on the wire.
    std::uint64_t drain(SendBatch& batch, Numbering& numbers);

    [[nodiscard]] bool is_empty() const { return queue_.empty(); }

  private:
    std::size_t packets_max_;
    std::deque<Send> queue_;
};

}  // namespace stage::core
