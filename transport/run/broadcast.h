// Runs one member's part in a broadcast.
//
// It receives two bound sockets, the table of members from the wire-up, the keys, and a source
// or a sink of blocks. It runs the session to its end and reports. This file composes driver,
// seal, buffers, disk thread, core and loop.
#pragma once

#include "transport/base/address.h"
#include "transport/base/log.h"
#include "transport/base/result.h"
#include "transport/core/base/contract.h"
#include "transport/run/driver.h"
#include "transport/run/object/object_io.h"
#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"
#include "transport/run/object/spare_buffers.h"
#include "transport/run/session.h"
#include "transport/seal/session_seal.h"

#include <string>
#include <vector>

namespace stage {

/// One member, from its business card.
struct BroadcastMember {
    Address peer;  ///< The address of its unicast socket.
    seal::Incarnation incarnation{};
    std::uint16_t relay_port = 0;  ///< Where it listens for a relay; 0: nowhere.
};

struct BroadcastConfig : core::BroadcastSettings {
    std::vector<BroadcastMember> members;  ///< By rank; 2 or more.
    Address group;                         ///< The multicast group and port.
    /// The version of the protocol that the wire-up agreed on.
    std::uint8_t version = wire::kVersionHighest;
    Protection protection = Protection::encrypt;
    seal::GroupKey group_key{};
    seal::SessionId session{};
    std::uint32_t mtu = 1500;  ///< The smallest of all members' interfaces, bytes.
    /// The source may compress blocks where that makes it faster.
    bool may_compress = false;
    /// Not 0: the members form a tree of this degree, or core::kTwoTrees, over reliable
    /// unicast, instead of a multicast group (core/relay).
    std::uint32_t relay_degree = 0;
    /// Interfaces that the flows use: as many as the member with the fewest has.
    std::uint8_t rails = 1;
    /// A receiver's buffers on disk, at most kSpillBlocks; null: it has none.
    SpareBuffers* spare = nullptr;
    /// The ports of all members, "6830-6893", for messages.
    std::string data_ports;
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
    bool was_handed_over = false;        ///< It began by multicast, and ended by a relay.
};

/// Blocks that lack chunks are kept on disk up to 4 GiB.
inline constexpr std::uint32_t kSpillBlocks = 4096;

/// The chunks of a relay, bytes: of a connection no packet is lost, so that each may be long,
/// but a member passes a chunk on when it is whole.
inline constexpr std::uint32_t kRelayChunkBytes = 16U << 10U;
/// The longest packet of a relay.
inline constexpr std::size_t kRelayPacketBytes =
    wire::kHeaderBytes + kRelayChunkBytes + wire::kTagBytes;

/// Runs the source over a driver that knows `config.members` and the group. `source` is called
/// from another thread meanwhile.
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
