// What the tests of the core's parts have in common.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/operation_queue.h"

#include <chrono>
#include <vector>

namespace stage::core::test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr Instant kStart{std::chrono::hours{5}};

inline Rank rank(unsigned value) {
    return Rank{static_cast<std::uint16_t>(value)};
}
inline BlockIndex block(unsigned value) {
    return BlockIndex{value};
}

/// A multicast packet of the source with this number.
inline Datagram arrival(std::uint64_t number, Instant at) {
    Datagram datagram;
    datagram.header.packet_number = number;
    datagram.to_group = true;
    datagram.arrived_at = at;
    return datagram;
}

inline CoreConfig config_of(unsigned own, unsigned members) {
    CoreConfig config;
    config.own = rank(own);
    config.members = static_cast<std::uint16_t>(members);
    config.chunk_bytes = 1000;
    config.rate_bytes_per_s = 100'000'000;
    config.resident_blocks = 8;
    config.ready_timeout = seconds{5};
    config.stall_timeout = seconds{8};
    config.linger = seconds{9};
    return config;
}

/// A raw block of this length; the leaf distinguishes blocks.
inline wire::Descriptor raw_block(std::uint32_t length, unsigned leaf = 1) {
    wire::Descriptor descriptor{.length = length, .wire_length = length, .leaf = {}};
    descriptor.leaf[0] = static_cast<std::byte>(leaf);
    return descriptor;
}

inline wire::Descriptor hole_block(std::uint32_t length) {
    return {.length = length, .wire_length = 0, .encoding = wire::Encoding::hole, .leaf = {}};
}

/// Everything that waits to be sent.
inline std::vector<Send> drained(ControlQueue& queue) {
    Numbering numbers;
    SendBatch batch;
    batch.packets_max = 10'000;
    queue.drain(batch, numbers);
    return batch.sends;
}

inline std::vector<Operation> taken(OperationQueue& operations) {
    std::vector<Operation> all(operations.begin(), operations.end());
    operations.clear();
    return all;
}

}  // namespace stage::core::test
