// Limits the packets of one segmented send.
//
// The batch must have room, the tokens must cover the packets (the last one may overdraw them),
// and UDP segmentation takes at most 65,507 bytes and 64 segments.
#pragma once

#include "transport/core/base/contract.h"

#include <algorithm>
#include <cstdint>

namespace stage::core {

inline constexpr std::uint32_t kTrainBytesMax = 65'000;  ///< Bytes of UDP payload.
inline constexpr std::uint32_t kBelowUdpBytes = 42;  ///< The headers of Ethernet, IP and UDP.
inline constexpr std::uint32_t kTrainPacketsMax = 64;

/// 0 if there are no tokens or no room. `packet_bytes`: of a full packet on the wire.
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
