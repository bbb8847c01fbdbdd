// Runs one member's part in a broadcast.
//
// It receives the driver of a fabric, the table of members from the wire-up, the keys, and a
// source or a sink of blocks. It runs the session to its end and reports. This file composes
// driver, seal, buffers, disk thread, core and loop.
#pragma once

#include "transport/base/log.h"
#include "transport/base/result.h"
#include "transport/core/base/contract.h"
#include "transport/fabric/fabric.h"
#include "transport/run/object/object_io.h"
#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"
#include "transport/run/object/spare_buffers.h"
#include "transport/run/session.h"
#include "transport/seal/session_seal.h"
#include "transport/settings/scheme.h"

#include <string>
#include <vector>

namespace stage {

struct BroadcastConfig : core::BroadcastSettings {
    std::vector<seal::Incarnation> members;  ///< By rank, from their business cards; 2 or more.
    Carrier carrier;                         ///< The carrier of the driver's fabric.
    /// The version of the protocol that the wire-up agreed on.
    std::uint8_t version = wire::kVersionHighest;
    Protection protection = Protection::encrypt;
    seal::GroupKey group_key{};
    seal::SessionId session{};
    /// The source may compress blocks where that makes it faster.
    bool may_compress = false;
    /// The driver's fabric must fit: a relay needs reliable unicast.
    Scheme scheme;
    /// A receiver's buffers on disk, at most kSpillBlocks; null: it has none.
    SpareBuffers* spare = nullptr;
    /// Seed of the core's random numbers; from getrandom() except in tests.
    std::uint64_t seed = 0;
};

struct BroadcastReport {
    core::Outcome outcome;
    seal::SealCounters refused;
    DriverCounters driver;
    std::string transport;
    std::vector<std::uint64_t> flow_packets;  ///< Received, by flow; empty if there is one.
    std::uint32_t chunk_bytes = 0;
    ShortenedBlocks shortened;  ///< By the source.
    /// At the end, while every buffer that was used is still held.
    std::uint64_t own_memory_bytes = 0;
    Duration ran{};  ///< From the start (wired up) to the end of the session.
    std::optional<Duration> held_after;  ///< From the start until this member held the object.
    bool was_handed_over = false;  ///< The broadcast began by multicast, and ended by a relay.
};

/// Blocks that lack chunks are kept on disk up to 4 GiB.
inline constexpr std::uint32_t kSpillBlocks = 4096;

/// Runs the source over a driver that knows all members, and the group if there is one.
/// `source` is called from another thread meanwhile.
[[nodiscard]] BroadcastReport send_broadcast(const BroadcastConfig& config,
                                             Driver& driver,
                                             BlockSource& source,
                                             Watcher& watcher);

/// Runs a receiver in the same way. `sink` is called from another thread meanwhile.
[[nodiscard]] BroadcastReport receive_broadcast(const BroadcastConfig& config,
                                                Driver& driver,
                                                BlockSink& sink,
                                                Watcher& watcher);

}  // namespace stage
