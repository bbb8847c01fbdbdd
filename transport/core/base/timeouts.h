// The default time-outs of a core, and those that follow from its configuration.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <chrono>
#include <concepts>

namespace stage::core {

/// An OFFER with more blocks is refused: 16 TiB in blocks of 1 MiB.
inline constexpr std::uint32_t kBlocksMax = 1U << 24U;

inline constexpr Duration kReadyTimeout = std::chrono::seconds{10};
inline constexpr Duration kStallTimeout = std::chrono::seconds{30};
inline constexpr Duration kConnectTimeout = std::chrono::seconds{5};
inline constexpr Duration kLinger = std::chrono::seconds{60};

/// How long finishing may take, from the last block to the files' final names.
[[nodiscard]] inline Duration finish_timeout(const CoreConfig& config,
                                             const EndingLimits& limits) {
    return config.stall_timeout * limits.finish_factor + config.finish_extra;
}

/// The source is silent for at most this part of a stall_timeout, and at most this time.
inline constexpr int kAlivePart = 8;
inline constexpr Duration kAliveMax = std::chrono::milliseconds{250};

[[nodiscard]] inline Duration alive_every(const CoreConfig& config) {
    return std::min<Duration>(config.stall_timeout / kAlivePart, kAliveMax);
}

/// Between two reports of a receiver from which the source needs nothing but a sign of life.
[[nodiscard]] inline Duration heartbeat_every(const CoreConfig& config,
                                              const FeedbackLimits& limits) {
    return std::max<Duration>(config.stall_timeout / limits.stall_fraction,
                              limits.heartbeat_time * config.members);
}

/// Heartbeats that may be lost one after another.
inline constexpr int kHeartbeatsLost = 4;

/// How long the source waits for a sign of life or of progress.
[[nodiscard]] inline Duration member_timeout(const CoreConfig& config,
                                             const FeedbackLimits& limits) {
    return std::max<Duration>(config.stall_timeout,
                              kHeartbeatsLost * heartbeat_every(config, limits));
}

/// Replaces time-outs of 0 with their defaults.
template <std::derived_from<BroadcastSettings> Config>
[[nodiscard]] Config with_default_timeouts(Config config) {
    const auto fill = [](Duration& time, Duration standard) {
        time = time > Duration::zero() ? time : standard;
    };
    fill(config.ready_timeout, kReadyTimeout);
    fill(config.stall_timeout, kStallTimeout);
    fill(config.connect_timeout, kConnectTimeout);
    fill(config.linger, kLinger);
    return config;
}

}  // namespace stage::core
