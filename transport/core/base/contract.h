// What does a protocol core promise to whoever drives it, and what does it ask?
//
// A core is pure: it has no socket, clock, thread, allocation of buffers or randomness of its
// own, and never sees a payload byte. Sockets, verbs, the simulator and the fuzzer drive the
// same type:
//
//     on_datagrams(now, span<const Datagram>)    what arrived, opened and parsed already
//     on_done(now, span<const Completion>)       what became of its operations
//     on_time(now)                               deadline() has come
//     next_sends(now, SendBatch&)                what to send now, as far as pacing allows
//     next_operations(now, OperationBatch&)      what to do with buffers and the object
//     deadline() · outcome()
//
// The driver calls next_operations and next_sends after every on_*; and once more whenever a
// batch came back full. Between two calls nothing else changes.
//
// Buffers. A DATA payload stays in a buffer of the driver's pool; the core names it by its
// ticket (a *lease*) until it hands it back with Place (the bytes go to their place in the
// block's buffer) or Drop. Every leased datagram gets exactly one of the two before the next
// on_datagrams. A *block* is resident from the Completion of its Load, or from its first Place,
// until Release; sends of its chunks are allowed only then. At most CoreLimits::resident_blocks
// are resident: the core keeps that bound, the driver checks it.
//
// A core is over when its phase is released or failed and it has no deadline() any more: until
// then it may still have a RELEASE to repeat, a LEAVE to send or a late DONE to answer.
//
// An implementation of this contract for a new fabric: see transport/run/driver.h for its side.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/core/base/parity_code.h"
#include "transport/wire/body.h"
#include "transport/wire/packet.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage::core {

/// Names a leased payload buffer or an operation under way. The giver draws it; 0 is none.
using Ticket = Ordinal<struct TicketTag, std::uint64_t>;

/// Something that arrived. `body` is valid during the call; a DATA payload beyond it, by lease.
struct Datagram {
    wire::Header header;    ///< Opened; with the whole packet number.
    bool to_group = false;  ///< It came by multicast.
    std::uint16_t body_bytes = 0;
    Bytes body;    ///< Control packets only.
    Ticket lease;  ///< DATA only.
    /// When it reached this host, as its kernel says. Of packets that came as one the same.
    Instant arrived_at{};
    /// Packets that the sockets dropped so far, before this one was taken.
    std::uint32_t overflow = 0;
    /// How full the socket's buffer was, in 255ths.
    std::uint8_t fill = 0;
};

enum class OperationKind : std::uint8_t {
    place,    ///< Copy the leased payload to `chunk` of `block`'s buffer; the lease ends.
    drop,     ///< The lease ends.
    load,     ///< Read `block` of the object into its buffer (source: from the file, with its
              ///< descriptor; holder: back from disk). Completes.
    verify,   ///< Compare the complete block's buffer with `descriptor`. Completes.
    store,    ///< Write the verified block to its file. Completes. The buffer stays.
    release,  ///< The block's buffer is free again.
    finish,   ///< Every block was stored (receiver) or loaded once (source): give the files
              ///< their final names. Completes; only a good one lets a member say that it holds
              ///< the object. Asked once, by every member.
    encode,   ///< Make the parities of `code` in `block`'s buffer, one each chunk_bytes.
    reconstruct,  ///< Make what `code` lost in the buffers of its blocks, from the parities in
                  ///< `block`'s. Both are done when they are performed, as place is.
    leave_group,  ///< Hear no more of what is sent to the group.
    join_group,   ///< Hear it again.
};

/// Nearly all are a packet's, and some sixty wait at a time: one is kept to a cache line.
struct Operation {
    Ticket ticket;  ///< The lease for place and drop; else drawn by the core, echoed on
                    ///< completion.
    BlockIndex block;
    ChunkIndex chunk;
    OperationKind kind = OperationKind::drop;
    wire::Descriptor descriptor;       ///< verify and store.
    const ParityCode* code = nullptr;  ///< encode and reconstruct: the core's, while it lives.
};
static_assert(sizeof(Operation) <= 64);

enum class Verdict : std::uint8_t {
    good,
    bad_digest,  ///< verify: fetch the block again. load: what is on disk is not what was sent.
    failed,      ///< The disk or file said no; `why` is for the user. Ends this member.
};

struct Completion {
    Ticket ticket;
    OperationKind kind = OperationKind::load;
    BlockIndex block;
    Verdict verdict = Verdict::good;
    wire::Descriptor descriptor;  ///< load: what was read.
    Error why{Blame::internal, ""};
};

/// Where a packet goes.
struct Destination {
    bool to_group = false;
    Rank peer;  ///< If not to the group.

    friend bool operator==(const Destination&, const Destination&) = default;
};

/// One or more packets to one destination. DATA: chunks first .. first+count-1 of a resident
/// block, numbered packet_number .. +count-1, each chunk_bytes long but the block's last: one
/// segmented send. Control: `body`, so often.
struct Send {
    wire::PacketType type = wire::PacketType::data;
    std::uint8_t flags = 0;
    Destination to;
    std::uint64_t packet_number = 0;
    BlockIndex block;
    ChunkIndex first;
    std::uint16_t count = 1;
    std::uint16_t length = 0;  ///< DATA of parities: of each. 0: as the block is cut.
    std::vector<std::byte> body;
};

/// Room for what a core wants. `packets_max` bounds the packets, not the entries.
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

/// How a member's part stands.
enum class Phase : std::uint8_t {
    wiring,    ///< Not every member was heard yet.
    moving,    ///< Blocks are on their way.
    holding,   ///< This member holds the object; others may not.
    released,  ///< The source said that all hold it (or that it is over): leave.
    failed,    ///< This member can't, or the group was told so: `why`.
};

struct Outcome {
    Phase phase = Phase::wiring;
    std::optional<Error> why;
    Rank culprit;  ///< Of `why`, where it is a member's.
    std::uint64_t bytes_held = 0;
    std::optional<Instant> held_at;
    std::uint64_t packets_lost = 0;      ///< Of the first pass, at this member.
    std::uint64_t packets_repaired = 0;  ///< Chunks that came from a peer or by repeat.
    std::uint64_t packets_sent = 0;
    std::uint16_t chunk_bytes = 0;             ///< In force; it changes only before any DATA.
    std::uint64_t rate_found_bytes_per_s = 0;  ///< The source's: what the path carried.
    /// Until then what goes to the group may stay in the host's socket; nothing is lost if it
    /// does not.
    Instant stream_may_wait_until = Instant::min();
    std::uint32_t times_left = 0;  ///< The group, because its own path was another's, too.
    bool was_cut_off = false;      ///< What was sent to the group did not reach this member.
};

/// Whom the source's rate follows, where none was told (docs/protocol, 6.3).
enum class RatePolicy : std::uint8_t {
    quantile,  ///< Most receivers.
    acker,     ///< The slowest.
};

/// Whom a receiver asks for what it missed (7.3).
enum class PeerPolicy : std::uint8_t {
    random,  ///< Anybody.
    ring,    ///< Who comes before it in the ring of ranks; who doesn't have it, is passed over.
};

/// When the source sends its first chunk (5).
enum class ReadinessPolicy : std::uint8_t {
    fence,  ///< When every member has answered an offer.
    none,   ///< At once; who comes late fetches what it missed.
};

/// Whether a receiver leaves the group when others' traffic fills its own path (7.6).
enum class LeavePolicy : std::uint8_t {
    never,      ///< The source sends no PULSE, so nobody can.
    congested,  ///< While most are not.
};

/// Blocks `first` .. `first + count - 1`.
struct BlockRun {
    BlockIndex first;
    std::uint32_t count = 0;

    friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

/// What every core is told at birth. Limits carry their unit in their names.
struct CoreConfig {
    Rank own;
    std::uint16_t members = 2;  ///< Size of the group, 2 .. 65535; ranks are 0 .. members-1.
    Rank source;
    std::uint32_t session = 0;
    std::uint16_t chunk_bytes = 1444;  ///< 1472 less header and tag, at MTU 1500.
    /// A smaller one, that all take where a path drops the larger; 0: none.
    std::uint16_t chunk_bytes_fallback = 0;
    std::uint64_t rate_bytes_per_s = 0;  ///< Told; payload and headers as on the wire (with 42
                                         ///< bytes of Ethernet, IP and UDP). 0: not told.
    std::uint64_t rate_max_bytes_per_s = 0;         ///< Where it isn't: no faster; 0: no bound.
    std::uint64_t rate_remembered_bytes_per_s = 0;  ///< What an earlier broadcast found.
    RatePolicy rate_policy = RatePolicy::quantile;
    PeerPolicy peer_policy = PeerPolicy::random;
    ReadinessPolicy readiness_policy = ReadinessPolicy::fence;
    LeavePolicy leave_policy = LeavePolicy::never;
    std::optional<std::uint32_t> loss_remembered_ppm;  ///< Likewise, in a million packets.
    std::uint32_t resident_blocks = 64;
    /// Of the socket that the group's packets come to, as the kernel counts; 0: not known.
    std::uint64_t group_buffer_bytes = 0;
    /// The member needs no byte of the object: a receiver has stored all of it, and only finish
    /// is left; the source need not read for its own sake.
    bool holds_already = false;
    /// It needs no byte of these, in order and apart: a receiver has stored them, right, and
    /// can't give them to others (it doesn't know how the source sends them); a source need not
    /// read the first of them, those from block 0 on, for its own sake.
    std::vector<BlockRun> held_before;
    std::uint64_t bytes_held_before = 0;  ///< Of these.
    Duration ready_timeout{};             ///< Until every member must have answered an offer.
    Duration stall_timeout{};  ///< Without any progress of a member that is alive or silent.
    Duration finish_extra{};   ///< Finishing may take so much longer, with all members.
    Duration linger{};         ///< A holder waits for RELEASE at most so long.
};

template <class Core>
concept ProtocolCore = requires(Core core,
                                const Core view,
                                Instant now,
                                std::span<const Datagram> datagrams,
                                std::span<const Completion> completions,
                                SendBatch& sends,
                                OperationBatch& operations,
                                Error why) {
    { core.on_datagrams(now, datagrams) } -> std::same_as<void>;
    { core.on_done(now, completions) } -> std::same_as<void>;
    { core.on_time(now) } -> std::same_as<void>;
    { core.next_sends(now, sends) } -> std::same_as<void>;
    { core.next_operations(now, operations) } -> std::same_as<void>;
    /// Gives up for a reason from outside (scancel, a failed peer): tells the group if it can.
    { core.on_abort(now, why) } -> std::same_as<void>;
    /// From outside, once or never: by now every member's core runs, so that whose datagrams
    /// don't pass is nobody who is busy yet.
    { core.on_all_listen(now) } -> std::same_as<void>;
    { view.deadline() } -> std::same_as<std::optional<Instant>>;
    { view.outcome() } -> std::same_as<const Outcome&>;
};

}  // namespace stage::core
