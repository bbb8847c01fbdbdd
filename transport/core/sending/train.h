// How many packets may go in one send?
//
// As many as the batch has room for, the credit covers (the last may overdraw it), and one
// segmented send takes: 65,507 bytes of UDP, 64 segments.
#pragma once

#include "transport/core/base/contract.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

inline constexpr std::uint32_t kTrainBytesMax = 65'000;  ///< Of datagrams, so without
inline constexpr std::uint32_t kBelowUdpBytes = 42;      ///< Ethernet, IP and UDP.
inline constexpr std::uint32_t kTrainPacketsMax = 64;

/// 0 if there is no credit or no room. `packet_bytes`: of a full packet on the wire.
[[nodiscard]] inline std::uint32_t packets_allowed(const SendBatch& batch,
                                                   std::int64_t credit_bytes,
                                                   std::uint32_t packet_bytes) {
    if (batch.full() || credit_bytes <= 0) {
        return 0;
    }
    const auto credit = static_cast<std::uint64_t>(credit_bytes);
    const std::uint64_t covered = (credit + packet_bytes - 1) / packet_bytes;
    const std::uint64_t segmented =
        std::clamp(kTrainBytesMax / (packet_bytes - kBelowUdpBytes), 1U, kTrainPacketsMax);
    const std::uint64_t room = batch.packets_max - batch.packets;
    return static_cast<std::uint32_t>(std::min({covered, segmented, room}));
}

}  // namespace stage::core
