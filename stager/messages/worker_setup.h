// Encodes and decodes the messages between the daemon and its worker.
//
// Over a pair of SEQPACKET sockets, the worker's end being descriptor 3:
//
//     daemon -> worker   SETUP (once, first), CARDS (only if cards_follow), REPLY (to each ASK
//                        and SEEK), LISTENING (once), ABORT, RELEASE
//     worker -> daemon   CARD (only if cards_follow), PROGRESS (now and then), ASK, SEEK,
//                        BEGUN, SPOILT, KEEP (only if may_cache), LEFT, LOOK (only for purposes
//                        look and compare), OUTCOME (once), DROPPED (only the source's, where
//                        the others go on), RELEASED (once, last)
//
// One datagram is one message: version, type, body, in network byte order (base/codec.h). A
// SETUP for ten thousand nodes is longer than a datagram may be, so a message beyond
// kMaxDatagram travels as a memfd beside a datagram that has its length; send_to_peer() and
// receive_from_peer() hide that. The end of the stream shows that the other side has ended: a
// worker then removes what it has not finished, and exits.
//
// The worker trusts its daemon. The daemon does not trust the worker, which is the user's
// process: decode_from_worker() limits every field, a memfd is read, never mapped, and another
// file in its place is not even closed by the receiving thread (untrusted_fd.h).
#pragma once

#include "stager/control/message.h"
#include "stager/messages/stage_settings.h"
#include "stager/messages/untrusted_fd.h"
#include "stager/messages/worker_statistics.h"
#include "transport/base/checksum.h"

#include <array>
#include <chrono>
#include <optional>

namespace stage {

inline constexpr std::uint8_t kWorkerVersion = 1;
inline constexpr int kWorkerControlFd = 3;  ///< SEQPACKET, to the daemon.
/// From here on: the descriptors of the endpoints, one endpoint after the other, then the file
/// of a passage.
inline constexpr int kWorkerEndpointsFd = 4;
inline constexpr std::size_t kMaxDatagram = 32U << 10U;
inline constexpr std::size_t kMaxToWorker = 32U << 20U;  ///< A SETUP for 65,535 nodes fits.
inline constexpr std::size_t kMaxFromWorker = 2U << 20U;
inline constexpr std::size_t kMaxMembers = 65535;   ///< A rank has 16 bits.
inline constexpr std::size_t kMaxCardBytes = 4096;  ///< One member's card.
inline constexpr std::size_t kMaxCardTableBytes = 16U << 20U;

/// What a worker is started for. Encoded by number: append only.
enum class WorkerPurpose : std::uint8_t {
    stage = 0,    ///< Bring the files to this node.
    lend = 1,     ///< Be the source, and keep no copy.
    look = 2,     ///< Alone. Source: describe it. Else: check path and space for `manifest`.
    compare = 3,  ///< Alone. Compute the digest of the source, or of the destination's files.
    // With the file of a passage (run/passage/passage.h), between clusters:
    take_in = 4,        ///< Be the only receiver; done once those behind the gateway are.
    take_in_alone = 5,  ///< Be that, and done once the gateway holds the object.
    pass_on = 6,        ///< Be the source of what the passage brings, and keep no copy.
    bring_in = 7,       ///< Be that source, and bring the files to this node, too.
};

[[nodiscard]] constexpr bool has_passage(WorkerPurpose purpose) {
    return purpose >= WorkerPurpose::take_in;
}
/// Whether it brings files to this node.
[[nodiscard]] constexpr bool keeps_copy(WorkerPurpose purpose) {
    return purpose == WorkerPurpose::stage || purpose == WorkerPurpose::bring_in;
}
/// KEEPs of one worker, each with a descriptor: a worker that sends more is killed.
inline constexpr std::size_t kMaxKept = 1024;
/// KEEPs of directory trees, in addition.
inline constexpr std::size_t kMaxTreesKept = 16;
/// BEGUNs, in addition.
inline constexpr std::size_t kMaxBegun = 16;
/// Bytes of an entry in a cleanup list: a path, and which file it is.
inline constexpr std::size_t kMaxEntryBytes = kMaxPathBytes + 128;
/// Entries of one LEFT: at least one byte and a length each, in a datagram.
inline constexpr std::size_t kMaxEntries = kMaxDatagram / 5;
/// Bytes of the manifest for a preflight check.
inline constexpr std::size_t kMaxLookBytes = 8U << 10U;

/// An endpoint (transport/fabric/fabric.h) whose descriptors the worker has from the daemon.
struct SetupEndpoint {
    std::string fabric;  ///< Its name.
    std::uint8_t descriptors = 0;
    std::vector<std::byte> description;

    bool operator==(const SetupEndpoint&) const = default;
};
inline constexpr std::size_t kMaxSetupEndpoints = 8;
/// Bytes of the description of an endpoint.
inline constexpr std::size_t kMaxSetupEndpointBytes = 8192;

/// Everything that a worker must know. What comes from the user (specs, work_dir) is checked
/// where it is used, with the user's rights.
struct WorkerSetup : StageSettings {
    StageKey key;
    Rank rank;                       ///< This node, an index into `nodes`.
    Rank source;                     ///< The node that has the files.
    std::vector<std::string> nodes;  ///< Names, in rank order, for messages.
    std::string specs;               ///< stage_spec.h: parse_serialized().
    std::string work_dir;            ///< Relative sources lie below it.
    std::string stage_dir;           ///< The job's directory, made by the daemon, mode 0700.
    std::string dest_subdir;         ///< Below it, for relative DSTs: "" or "step.N".
    std::vector<std::string> dest_roots;     ///< Where absolute DSTs may lie.
    std::uint64_t max_bytes = 0;             ///< The limit of all files together; 0: none.
    std::vector<SetupEndpoint> endpoints{};  ///< The best first; none for a group of one.
    bool may_compress = false;  ///< The source compresses while that makes it faster.
    std::chrono::milliseconds stage_timeout{0};    ///< What is left of it; 0: none.
    std::chrono::milliseconds stall_timeout{0};    ///< Without progress; 0: none.
    std::chrono::milliseconds wire_up_timeout{0};  ///< 0: none.
    std::chrono::milliseconds connect_timeout{0};  ///< To another worker; 0: the default.
    std::chrono::milliseconds linger{0};           ///< Serving repairs without a RELEASE.
    WorkerPurpose purpose = WorkerPurpose::stage;
    std::vector<std::byte> manifest{};  ///< For a preflight check.
    /// Owners, ACLs and set-id bits are kept (files/target/target.h): a job's, and PushSetId.
    bool keeps_owners = true;
    bool may_cache = false;    ///< This node has a cache: ASK, SEEK, BEGUN and KEEP.
    std::string data_ports{};  ///< DataPortRange, for messages.

    bool operator==(const WorkerSetup&) const = default;
};

/// Makes the worker stop, remove what is not finished, and exit.
struct WorkerAbort {
    Blame blame = Blame::internal;
    std::string sentence;

    bool operator==(const WorkerAbort&) const = default;
};

/// All cards, as pmix/business_card.h packs them, rank by rank.
struct WorkerCards {
    std::vector<std::byte> table;

    bool operator==(const WorkerCards&) const = default;
};

/// The group has its verdict: no other node needs the worker's repairs any more.
struct WorkerRelease {
    bool operator==(const WorkerRelease&) const = default;
};

inline constexpr std::size_t kMaxCacheNameBytes = 48;  ///< A stamp, or a content.

/// The node cache's answer to an ASK or a SEEK; beside it the file, if it was asked for.
struct WorkerCacheReply {
    std::vector<std::byte> about{};    ///< The question.
    std::vector<std::byte> content{};  ///< content/content.h; empty: unknown, or not here.

    bool operator==(const WorkerCacheReply&) const = default;
};

/// All workers of the group receive packets now.
struct WorkerListening {
    bool operator==(const WorkerListening&) const = default;
};

using ToWorker = std::variant<WorkerSetup,
                              WorkerAbort,
                              WorkerCards,
                              WorkerRelease,
                              WorkerCacheReply,
                              WorkerListening>;

/// The phases of a worker. Encoded by number: append only.
enum class WorkerPhase : std::uint8_t {
    wire_up = 0,   ///< Cards, offers; no byte of the file yet.
    transfer = 1,  ///< `bytes` of `bytes_total` are here.
    serve = 2,     ///< Done, answering other members' repair requests.
};

/// The first one shows that this worker receives packets.
struct WorkerProgress {
    WorkerPhase phase = WorkerPhase::wire_up;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_total = 0;  ///< 0: not known yet.

    bool operator==(const WorkerProgress&) const = default;
};

/// This member's own card, for the daemon to gather (cards_follow).
struct WorkerCard {
    std::vector<std::byte> card;

    bool operator==(const WorkerCard&) const = default;
};

/// The result for the files on this node. It is sent when the files have their final names (or
/// can't get them); the worker may serve its peers for a while after that.
struct WorkerOutcome {
    VerdictState state = VerdictState::failed;  ///< ok, partial or failed.
    Blame blame = Blame::internal;              ///< The party to blame for what is not ok.
    /// Without this node's name in front: "/shared/input.dat: No space left on device; ...".
    /// When another member's failure ended this worker, that sentence, and `culprit` is its
    /// rank.
    std::string sentence;
    Rank culprit;  ///< The rank that failed: this worker's own, or the one reported to it.
    /// The absolute paths of the specs' files here, in spec order; "" for one that is not here.
    std::vector<std::string> paths;
    /// The directories in which this worker placed libraries, absolute, each with a slash at
    /// its end. At most one per spec.
    std::vector<std::string> libs_directories;
    /// Absolute, at most kMaxDirectories, below which everything lies that it placed.
    std::vector<std::string> directories;
    WorkerStatistics statistics;

    bool operator==(const WorkerOutcome&) const = default;
};

/// The worker is about to end; with the final statistics.
struct WorkerReleased {
    WorkerStatistics statistics;

    bool operator==(const WorkerReleased&) const = default;
};

/// The result of a preflight check; sent before OUTCOME.
struct WorkerLook {
    std::vector<std::byte> manifest{};  ///< The source's, for the other nodes' checks.
    std::uint64_t bytes = 0;
    std::uint32_t blocks = 0;        ///< The source's object (transport/run/object/source.h),
    std::uint64_t object_bytes = 0;  ///< for a gateway.
    /// The digest of what the source says of its files (names, sizes, times): another one,
    /// other files.
    Digest128 identity{};
    std::string digest{};  ///< The digest of the content, if that is compared.

    bool operator==(const WorkerLook&) const = default;
};

/// With a stamp: asks for the file's content. With a content: asks for its bytes. One at a
/// time.
struct WorkerAsk {
    std::vector<std::byte> about{};

    bool operator==(const WorkerAsk&) const = default;
};

/// Offers the node cache a file that was staged, as the descriptor beside the message.
struct WorkerKeep {
    std::array<std::byte, 32> stamp{};  ///< The stamp of the source's file.
    std::array<std::byte, 16> sum{};    ///< XXH3-128 over its leaves.
    std::uint64_t bytes = 0;

    bool operator==(const WorkerKeep&) const = default;
};

/// Asks whether an earlier, interrupted stage kept a part of that file here, or all of it. One
/// at a time. (The answer has a content if it is all.)
struct WorkerSeek {
    std::array<std::byte, 32> stamp{};  ///< The stamp of the source's file.

    bool operator==(const WorkerSeek&) const = default;
};

/// A file that is being written, with its note (content/part_note.h), as the descriptor beside
/// the message: if this stage is interrupted, the cache keeps what was received.
struct WorkerBegun {
    std::array<std::byte, 32> stamp{};  ///< The stamp of the source's file.
    std::uint64_t bytes = 0;            ///< When it is whole.

    bool operator==(const WorkerBegun&) const = default;
};

/// The bytes that the cache gave do not have that content.
struct WorkerSpoilt {
    std::vector<std::byte> content{};

    bool operator==(const WorkerSpoilt&) const = default;
};

/// Entries for the stage's cleanup list (removal/cleanup_entry.h). A file that is to be removed
/// is reported before it gets its name, so that a worker that is killed leaves nothing behind.
struct WorkerLeft {
    std::vector<std::string> entries{};

    bool operator==(const WorkerLeft&) const = default;
};

/// The source's: the broadcast went on without this member. Sent when all others hold the
/// object, once for each member that was dropped.
struct WorkerDropped {
    Rank rank;
    Blame blame = Blame::internal;
    std::string sentence;  ///< Without the member's name.

    bool operator==(const WorkerDropped&) const = default;
};

using FromWorker = std::variant<WorkerProgress,
                                WorkerCard,
                                WorkerOutcome,
                                WorkerReleased,
                                WorkerLook,
                                WorkerAsk,
                                WorkerKeep,
                                WorkerSpoilt,
                                WorkerSeek,
                                WorkerBegun,
                                WorkerLeft,
                                WorkerDropped>;

/// Requires every field within its limit (nodes, roots and texts as in message.h); sentence and
/// statistics are cut, any other violation is an invariant.
[[nodiscard]] std::vector<std::byte> encode_to_worker(const ToWorker& message);
[[nodiscard]] std::vector<std::byte> encode_from_worker(const FromWorker& message);

/// Fails (Blame::internal) unless the bytes are exactly one well-formed message of our version.
[[nodiscard]] Result<ToWorker> decode_to_worker(Bytes message);
[[nodiscard]] Result<FromWorker> decode_from_worker(Bytes message);

/// Sends one encoded message. On a full non-blocking socket the error's cause is EAGAIN and
/// nothing was sent. If the peer has ended it is EPIPE, without a signal.
/// `file`: a descriptor beside a message of at most kMaxDatagram, borrowed; -1: none.
[[nodiscard]] Status send_to_peer(int fd, Bytes message, int file = -1);

/// The result of receive_from_peer().
struct PeerMessage {
    enum class Kind : unsigned char { message, nothing_yet, closed } kind = Kind::nothing_yet;
    std::vector<std::byte> message;
    UntrustedFd file{};  ///< The descriptor beside the message, if there was one.
};

/// Takes one message of at most `limit` bytes. Blocks only if the socket does. Fails on a
/// malformed datagram, and on more than one descriptor. `closer`: of the peer's user.
[[nodiscard]] Result<PeerMessage> receive_from_peer(
    int fd, std::size_t limit, const CloserPtr& closer = std::make_shared<DeferredCloser>());

}  // namespace stage
