// The contract between a protocol core and the driver that runs it.
//
// A core (core.h) is pure: it has no socket, clock, thread, buffer allocation or randomness of
// its own, and never sees a payload byte. Sockets, verbs, the simulator and the fuzzer drive it
// alike. What passes between the two stands here.
//
// Buffers: a DATA payload stays in a buffer of the driver's pool. The core names it by its
// ticket (a *lease*) until it returns it with `place` (the bytes are copied to their place in
// the block's buffer) or `drop`. Every leased datagram gets exactly one of the two before the
// next on_datagrams. A *block* is resident from the Completion of its `load`, or from its first
// `place`, until `release`. Its chunks may be sent only while it is resident. At most
// CoreConfig::resident_blocks blocks are resident, and as many more as spill_blocks says of
// those that lack chunks: the core keeps these limits, and the driver checks them.
//
// The driver's side of the contract is transport/fabric/driver.h.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/parity_code.h"
#include "transport/settings/policies.h"
#include "transport/settings/scheme.h"
#include "transport/wire/body.h"
#include "transport/wire/packet.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage::core {

/// Names a leased payload buffer or an operation in progress. Its giver draws it; 0 is none.
using Ticket = Ordinal<struct TicketTag, std::uint64_t>;

/// A received datagram. `body` is valid during the call, a DATA payload until its lease ends.
struct Datagram {
    wire::Header header;    ///< Opened, with the expanded packet number.
    bool to_group = false;  ///< The packet arrived by multicast.
    std::uint32_t body_bytes = 0;
    Bytes body;    ///< Control packets only.
    Ticket lease;  ///< DATA only.
    /// When the packet reached this host, by the kernel's clock. Packets that the kernel
    /// delivers as one piece have the same time.
    Instant arrived_at{};
    /// Packets that the sockets dropped in this session before this one was read.
    std::uint32_t overflow = 0;
    /// How full the socket's buffer was, in 255ths.
    std::uint8_t fill = 0;
};

enum class OperationKind : std::uint8_t {
    /// Copies the leased payload to `chunk` of `block`'s buffer. The lease ends. Completes
    /// only, with `failed`, if the driver has no spare buffer any more.
    place,
    drop,  ///< Ends the lease.
    /// Reads `block` into its buffer: the source from the file, with its descriptor; a holder
    /// back from disk. Completes.
    load,
    verify,   ///< Compares the complete block's buffer with `descriptor`. Completes.
    store,    ///< Writes the verified block to its file; the buffer stays. Completes.
    release,  ///< Frees the block's buffer.
    /// Gives the files their final names, after every block was stored (receiver) or loaded
    /// once (source). Completes, and only with `good` may the member claim to hold the object.
    /// Every member requests it once.
    finish,
    encode,  ///< Computes the parities of `code` in `block`'s buffer, one each chunk_bytes.
    /// Computes the chunks that `code` lost, in the buffers of their blocks, from the parities
    /// in `block`'s buffer. Like place and encode it is done when it is performed.
    reconstruct,
    // The next two need a driver with reliable unicast. Without a connection to its peer, for
    // its flow, a packet is lost.
    connect,  ///< Begins the connection to `peer` for `flow`.
    hang_up,  ///< Closes the connection to `peer` for `flow`, without an event.
};

/// Nearly every packet needs one and some sixty wait at a time: an operation fits a cache line.
struct Operation {
    /// place and drop: the lease. Otherwise drawn by the core and returned in the Completion.
    Ticket ticket;
    BlockIndex block;
    ChunkIndex chunk;
    OperationKind kind = OperationKind::drop;
    Flow flow{};                       ///< For connect and hang_up.
    Rank peer;                         ///< For connect and hang_up.
    wire::Descriptor descriptor;       ///< For verify and store.
    const ParityCode* code = nullptr;  ///< For encode and reconstruct; owned by the core.
};
static_assert(sizeof(Operation) <= 64);

enum class Verdict : std::uint8_t {
    good,
    bad_digest,  ///< verify: fetch the block again. load: the disk does not hold what was sent.
    failed,      ///< The disk or file failed; `why` is for the user. Ends this member.
};

struct Completion {
    Ticket ticket;
    OperationKind kind = OperationKind::load;
    BlockIndex block;
    Verdict verdict = Verdict::good;
    wire::Descriptor descriptor;  ///< For load: what was read.
    Error why{Blame::internal, ""};
};

/// The destination of a packet.
struct Destination {
    bool to_group = false;
    Rank peer;    ///< Used if not to_group.
    Flow flow{};  ///< Used with reliable unicast: a peer has a connection for each flow.

    friend bool operator==(const Destination&, const Destination&) = default;
};

/// One or more packets to one destination. DATA: chunks first .. first+count-1 of a resident
/// block, numbered packet_number .. +count-1, each chunk_bytes long except the block's last, in
/// one segmented send. Control packets: `body`, sent `count` times.
struct Send {
    wire::PacketType type = wire::PacketType::data;
    std::uint8_t flags = 0;
    Destination to;
    std::uint64_t packet_number = 0;
    BlockIndex block;
    ChunkIndex first;
    std::uint16_t count = 1;
    /// DATA of parities: the length of each. 0: as the block is cut.
    std::uint32_t length = 0;
    std::vector<std::byte> body;
};

/// Receives what a core wants to send. `packets_max` limits packets, not entries.
struct SendBatch {
    std::vector<Send> sends;
    std::size_t packets_max = 64;
    std::size_t packets = 0;

    [[nodiscard]] bool full() const { return packets >= packets_max; }
};

struct OperationBatch {
    std::vector<Operation> operations;
    std::size_t operations_max = 256;

    [[nodiscard]] bool full() const { return operations.size() >= operations_max; }
};

/// The state of a member's part in the broadcast.
enum class Phase : std::uint8_t {
    wiring,   ///< Not every member has been heard.
    moving,   ///< Blocks are being transferred.
    holding,  ///< This member holds the object; others may not.
    /// RELEASE arrived: every member holds the object, or the broadcast is over. Leave.
    released,
    /// This member cannot hold the object, or RELEASE said that the group failed: `why`.
    failed,
    /// The group goes on by the relay Outcome::relay: this session is over.
    handed_over,
};

/// A member that the group went on without (BroadcastSettings::drops_failed).
struct DroppedMember {
    Rank rank;
    Error why;  ///< Only the source knows more than that it was dropped.
};

struct Outcome {
    Phase phase = Phase::wiring;
    std::optional<Error> why;
    /// Released without RELEASE: the member holds the object, and the source fell silent.
    bool is_end_unheard = false;
    Rank culprit;  ///< The member that `why` is about, if there is one.
    /// No connection to `culprit`, nor to any other parent of this member, could be made.
    bool is_unconnected = false;
    /// Once released: the receivers that do not hold the object, by rank. A receiver lists as
    /// many as RELEASE has room for.
    std::vector<DroppedMember> dropped;
    std::uint64_t bytes_held = 0;
    std::optional<Instant> held_at;
    std::uint64_t packets_lost = 0;  ///< Packets of the first pass that this member missed.
    /// Chunks that a peer repaired or the source retransmitted.
    std::uint64_t packets_repaired = 0;
    std::uint64_t packets_sent = 0;
    std::uint32_t chunk_bytes = 0;  ///< In force; changes only before any DATA.
    /// Source: the capacity that the rate search found.
    std::uint64_t rate_found_bytes_per_s = 0;
    /// Until then packets to the group may stay in the host's socket. Nothing is lost if they
    /// do not.
    Instant stream_may_wait_until = Instant::min();
    bool was_unreachable = false;  ///< Multicast did not reach this member.
    std::optional<Relay> relay;    ///< By which the group goes on, once it is handed over.
    /// Members that run and that multicast does not reach, if the broadcast ended because of
    /// them. A receiver lists as many as RELEASE has room for.
    std::vector<Rank> unreached;
};

/// Blocks `first` .. `first + count - 1`.
struct BlockRun {
    BlockIndex first;
    std::uint32_t count = 0;

    friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

/// What the caller of a broadcast sets and the core uses. transport/run/broadcast.h adds what
/// only the driver and the keys need, and hands this on whole.
struct BroadcastSettings {
    Rank own;
    Rank source;
    Policies policies;
    /// The others go on without a receiver that fails, or does not answer in time (11);
    /// otherwise all fail. Only the source's counts.
    bool drops_failed = false;
    /// A receiver obeys a source that goes on by a relay only if its own is `relay`.
    UnreachedPolicy unreached_policy = UnreachedPolicy::fetch;
    /// The source's: the relay by which the group would go on.
    Relay next_relay;
    /// The configured rate, with headers (including 42 bytes of Ethernet, IP and UDP). 0: none,
    /// the source searches for the rate.
    std::uint64_t rate_bytes_per_s = 0;
    /// Upper bound of the rate; 0: what the path takes.
    std::uint64_t rate_max_bytes_per_s = 0;
    /// The rate that an earlier broadcast from here found; 0: none.
    std::uint64_t rate_remembered_bytes_per_s = 0;
    /// Size of the sockets' buffers that receive the group's packets, as the kernel counts; 0:
    /// not known.
    std::uint64_t group_buffer_bytes = 0;
    /// The member needs no byte of the object: a receiver has stored all of it, and only
    /// `finish` remains; a source need not read it for its own copy.
    bool holds_already = false;
    /// Blocks that the member needs no byte of, ascending and disjoint. A receiver has stored
    /// and verified them, but cannot give them to peers because it does not know how the source
    /// encodes them. A source need not read the first of them, from block 0 on, for its own
    /// copy.
    std::vector<BlockRun> held_before;
    std::uint64_t bytes_held_before = 0;  ///< Bytes of these blocks.
    /// What a receiver knows of the object before the OFFER. By a relay it then requests blocks
    /// a round trip sooner, and fails if the OFFER says otherwise.
    std::optional<ObjectShape> announced;
    // Time-outs of 0 have their defaults (timeouts.h).
    Duration ready_timeout{};  ///< By then every member must have answered an OFFER.
    Duration stall_timeout{};  ///< How long a member may make no progress, alive or silent.
    /// With reliable unicast: how long no other member may take a connection of this one.
    Duration connect_timeout{};
    /// How much longer than usual finishing may take, on every member.
    Duration finish_extra{};
    Duration linger{};  ///< How long a member that holds the object waits for RELEASE.
};

/// The parameters of a core, fixed when it is made.
struct CoreConfig : BroadcastSettings {
    std::uint16_t members = 2;  ///< Size of the group, 2 .. 65535; ranks are 0 .. members-1.
    std::uint32_t session = 0;
    std::uint32_t chunk_bytes = 1444;  ///< 1472 minus header and tag, at MTU 1500.
    /// The chunk size to fall back to where a path drops the larger packets; 0: none.
    std::uint32_t chunk_bytes_fallback = 0;
    std::uint32_t resident_blocks = 64;
    /// Spare buffers, on disk, for blocks that lack chunks when `resident_blocks` are in use.
    std::uint32_t spill_blocks = 0;
};

}  // namespace stage::core
