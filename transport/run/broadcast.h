// How does a member take part in one broadcast?
//
// It is handed two bound sockets, the table of members that the wire-up made, the keys, and a
// source or a sink of blocks; it runs the session to its end and reports. Everything here only
// composes: driver, seal, buffers, disk thread, core, loop.
#pragma once

#include "transport/base/address.h"
#include "transport/base/log.h"
#include "transport/base/result.h"
#include "transport/core/base/contract.h"
#include "transport/run/driver.h"
#include "transport/run/object/object_io.h"
#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"
#include "transport/run/session.h"
#include "transport/seal/session_seal.h"

#include <string>
#include <vector>

namespace stage {

/// One member, as its card says.
struct BroadcastMember {
    Address peer;  ///< Where its unicast socket is bound.
    seal::Incarnation incarnation{};
};

struct BroadcastConfig {
    std::vector<BroadcastMember> members;  ///< By rank; 2 or more.
    Rank own;
    Rank source;
    Address group;  ///< The multicast group and port.
    seal::Protection protection = seal::Protection::encrypt;
    seal::GroupKey group_key{};
    seal::SessionId session{};
    std::uint32_t mtu = 1500;           ///< The smallest of all members' interfaces, bytes.
    std::uint64_t rate_bits_per_s = 0;  ///< No faster, as on the wire; 0: as the path takes.
    bool may_compress = false;          ///< The source, while that makes it faster.
    bool is_rate_told = false;          ///< That is what the path carries: don't look for it.
    std::uint64_t rate_remembered_bits_per_s = 0;  ///< What an earlier broadcast found here.
    core::RatePolicy rate_policy = core::RatePolicy::quantile;
    core::PeerPolicy peer_policy = core::PeerPolicy::random;
    core::ReadinessPolicy readiness_policy = core::ReadinessPolicy::fence;
    core::LeavePolicy leave_policy = core::LeavePolicy::never;  ///< The source's counts.
    std::uint32_t group_buffer_bytes = 0;  ///< Of the group's sockets, together; 0: not known.
    std::uint8_t flows = 1;      ///< Flows that the source spreads the group's packets over.
    std::uint8_t rails = 1;      ///< Interfaces that these use: as the member with the fewest.
    bool holds_already = false;  ///< The object is here, and lacks only finish().
    std::vector<core::BlockRun> held_before;  ///< Or these blocks are: see CoreConfig.
    std::uint64_t bytes_held_before = 0;
    Duration ready_timeout = std::chrono::seconds{5};
    Duration stall_timeout = std::chrono::seconds{30};
    Duration finish_extra{};  ///< Finishing may take so much longer, with all members.
    Duration linger = std::chrono::seconds{60};
    std::uint64_t seed = 0;  ///< Of the core's draws; from getrandom() but in tests.
};

struct BroadcastReport {
    core::Outcome outcome;
    seal::SealCounters refused;
    DriverCounters driver;
    std::string transport;
    std::vector<std::uint64_t> flow_packets;  ///< Received, by flow; empty: there is one.
    std::uint16_t chunk_bytes = 0;
    ShortenedBlocks shortened;           ///< By the source.
    std::uint64_t own_memory_bytes = 0;  ///< At the end, every buffer that was used still held.
    Duration ran{};  ///< From the start (wired up) to the end of the session.
    std::optional<Duration> held_after;  ///< From the start until this member held the object.
};

/// Runs the sending side over a driver that knows `config.members` and the group. `source` is
/// called from another thread while this runs.
[[nodiscard]] BroadcastReport send_broadcast(const BroadcastConfig& config,
                                             Driver& driver,
                                             BlockSource& source,
                                             Watcher& watcher);

/// Runs a receiving side in the same way. `sink` is called from another thread while this runs.
[[nodiscard]] BroadcastReport receive_broadcast(const BroadcastConfig& config,
                                                Driver& driver,
                                                BlockSink& sink,
                                                Watcher& watcher);

}  // namespace stage
