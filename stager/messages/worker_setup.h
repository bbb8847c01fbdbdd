// What do the daemon and its worker say to each other?
//
// Over a pair of SEQPACKET sockets, the worker's end being descriptor 3:
//
//     daemon -> worker   SETUP (once, first), CARDS (only if cards_follow), TOLD (to each ASK
//                        and SEEK), LISTENING (once), ABORT, RELEASE
//     worker -> daemon   CARD (only if cards_follow), PROGRESS (now and then), ASK, SEEK,
//                        BEGUN, SPOILT, KEEP (only if may_cache), LEFT, LOOK (only if that is
//                        all it is for), OUTCOME (once), RELEASED (once, last)
//
// One datagram is one message: version, type, body, in network byte order (base/codec.h). A
// SETUP for ten thousand nodes is longer than a datagram may be, so a message beyond
// kMaxDatagram travels as a memfd beside a datagram that tells its length; send_to_peer() and
// receive_from_peer() hide that. The end of the stream says that the other side is gone: a
// worker then removes what it has not finished, and exits.
//
// The worker trusts its daemon. The daemon does not trust the worker, which is the user's
// process: decode_from_worker() bounds every field, a memfd is read, never mapped, and what
// comes instead of one is not even closed by who received it (untrusted_fd.h).
#pragma once

#include "stager/config/policies.h"
#include "stager/control/message.h"
#include "stager/messages/untrusted_fd.h"

#include <array>
#include <chrono>
#include <optional>

namespace stage {

inline constexpr std::uint8_t kWorkerVersion = 1;
inline constexpr int kWorkerControlFd = 3;  ///< SEQPACKET, to the daemon.
inline constexpr int kWorkerGroupFd = 4;    ///< UDP, bound, joined and sized: the first flow.
inline constexpr int kWorkerUnicastFd = 5;  ///< UDP, bound and sized.
/// And on: the other flows, as the group's; then the source's sockets for sending by each rail
/// but the first.
inline constexpr int kWorkerFlowsFd = 6;
inline constexpr std::size_t kMaxDatagram = 32U << 10U;
inline constexpr std::size_t kMaxToWorker = 32U << 20U;  ///< A SETUP for 65,535 nodes fits.
inline constexpr std::size_t kMaxFromWorker = 2U << 20U;
inline constexpr std::size_t kMaxMembers = 65535;  ///< A rank has 16 bits.
inline constexpr std::size_t kMaxStatisticsBytes = 4096;
inline constexpr std::size_t kMaxCardBytes = 4096;  ///< One member's card.
inline constexpr std::size_t kMaxCardTableBytes = 16U << 20U;

/// What a worker is started for. Travels by number: append only.
enum class WorkerPurpose : std::uint8_t {
    stage = 0,    ///< Bring the files to this node.
    lend = 1,     ///< Be the source, and keep no copy.
    look = 2,     ///< Alone. Source: what is it? Else: would `manifest` find place and room?
    compare = 3,  ///< Alone. What is the digest of the source, or of what lies where it goes?
};
/// KEEPs of one worker, each with a descriptor: one that says more is killed.
inline constexpr std::size_t kMaxKept = 1024;
/// Of trees, besides.
inline constexpr std::size_t kMaxTreesKept = 16;
/// BEGUNs, likewise.
inline constexpr std::size_t kMaxBegun = 16;
/// An entry of a cleanup list: a path, and which file it is, bytes.
inline constexpr std::size_t kMaxEntryBytes = kMaxPathBytes + 128;
/// Entries of one LEFT: at least one byte and a length each, in a datagram.
inline constexpr std::size_t kMaxEntries = kMaxDatagram / 5;
/// The manifest of what is to be looked for, bytes.
inline constexpr std::size_t kMaxLookBytes = 8U << 10U;

/// Everything a worker must know. What came from the user (specs, work_dir) is checked by
/// whoever uses it, as the user.
struct WorkerSetup {
    StageKey key;
    Rank rank;                       ///< This node, an index into `nodes`.
    Rank source;                     ///< Who has the files.
    std::vector<std::string> nodes;  ///< Names, in rank order: sentences speak them.
    std::string specs;               ///< stage_spec.h: parse_serialized().
    std::string work_dir;            ///< Relative sources lie below it.
    std::string stage_dir;           ///< The job's directory, made by the daemon, mode 0700.
    std::string dest_subdir;         ///< Below it, for relative DSTs: "" or "step.N".
    std::vector<std::string> dest_roots;  ///< Where absolute DSTs may lie.
    std::uint64_t max_bytes = 0;          ///< Of all files together; 0: no limit.

    std::array<std::byte, 16> session{};
    std::array<std::byte, 32> group_key{};
    std::string group_address;  ///< Numeric, "239.192.0.7" or "ff35::7"; empty: no multicast.
    std::uint16_t group_port = 0;
    std::uint8_t group_rails = 1;  ///< Neighbouring addresses of the group.
    /// Names of those that multicast uses, by rail; the flows are on them in turn.
    std::vector<std::string> interfaces;
    std::uint8_t protection =
        2;                       ///< As seal::Protection and Config: 0 none, 1 auth, 2 encrypt.
    std::uint64_t rate_max = 0;  ///< No faster, bits per second on the wire; 0: no bound.
    bool rate_is_configured = false;  ///< Send at it.
    bool may_compress = false;        ///< The source, while that makes it faster.
    Policies policies;
    std::string transport;                         ///< "auto", "udp", ...
    std::chrono::milliseconds stage_timeout{0};    ///< What is left of it; 0: none.
    std::chrono::milliseconds stall_timeout{0};    ///< Without progress; 0: none.
    std::chrono::milliseconds connect_timeout{0};  ///< For the wire-up; 0: none.
    std::chrono::milliseconds linger{0};           ///< Serving repairs without a RELEASE.
    std::uint32_t array_job_id = 0;  ///< For names (spec/name_pattern.h); 0: no array.
    std::uint32_t array_task_id = 0;
    bool cards_follow = false;  ///< Cards go over this socket, not over PMIx.
    WorkerPurpose purpose = WorkerPurpose::stage;
    std::vector<std::byte> manifest{};  ///< To look for.
    /// Owners, ACLs and set-id bits are kept (files/target/target.h): a job's, and PushSetId.
    bool keeps_owners = true;
    bool may_cache = false;  ///< This node has a cache: ASK, SEEK, BEGUN and KEEP.

    bool operator==(const WorkerSetup&) const = default;
};

/// "Stop, remove what is not finished, exit."
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

/// "The group has its verdict: nobody needs your repairs any more."
struct WorkerRelease {
    bool operator==(const WorkerRelease&) const = default;
};

inline constexpr std::size_t kMaxCacheNameBytes = 48;  ///< A stamp, or a content.

/// What the node cache says to an ASK or a SEEK; beside it the bytes, where they were wanted.
struct WorkerCacheReply {
    std::vector<std::byte> about{};    ///< The question.
    std::vector<std::byte> content{};  ///< content/content.h; empty: not known, not here.

    bool operator==(const WorkerCacheReply&) const = default;
};

/// "All workers of the group take packets now."
struct WorkerListening {
    bool operator==(const WorkerListening&) const = default;
};

using ToWorker = std::variant<WorkerSetup,
                              WorkerAbort,
                              WorkerCards,
                              WorkerRelease,
                              WorkerCacheReply,
                              WorkerListening>;

/// What a worker is at. Travels by number: append only.
enum class WorkerPhase : std::uint8_t {
    wire_up = 0,   ///< Cards, offers; no byte of the file yet.
    transfer = 1,  ///< `bytes` of `bytes_total` are here.
    serve = 2,     ///< Done, serving others.
};

/// The first says that this worker takes packets.
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

/// What became of the files on this node. It is sent once the files are under their final names
/// (or can't be); the worker may serve its peers for a while yet.
struct WorkerOutcome {
    VerdictState state = VerdictState::failed;  ///< ok, partial or failed.
    Blame blame = Blame::internal;              ///< Of what is not ok.
    /// Without this node's name in front: "/shared/input.dat: No space left on device; ...".
    /// When another member's failure ended this worker, that sentence, and `culprit` is its
    /// rank.
    std::string sentence;
    Rank culprit;  ///< Who failed: this worker's own rank, or the one that it was told of.
    /// Where each spec's file lies here, absolute, in spec order; "" for one that is not here.
    std::vector<std::string> paths;
    /// Those that this worker placed libraries in, absolute, each with a slash at its end. At
    /// most one per spec.
    std::vector<std::string> library_directories;
    /// Absolute, at most kMaxDirectories, below which all that it placed lies.
    std::vector<std::string> directories;
    std::string statistics;  ///< One line of JSON, "{}" at the least.

    bool operator==(const WorkerOutcome&) const = default;
};

/// "I am leaving", with what is known at the end.
struct WorkerReleased {
    std::string statistics;

    bool operator==(const WorkerReleased&) const = default;
};

/// What a worker that looks alone has seen; before its OUTCOME.
struct WorkerLook {
    std::vector<std::byte> manifest{};  ///< The source's, for others to look for.
    std::uint64_t bytes = 0;
    std::string digest{};  ///< Of the content, if it is compared.

    bool operator==(const WorkerLook&) const = default;
};

/// Of a stamp: which content has that file? Of a content: have you it? One at a time.
struct WorkerAsk {
    std::vector<std::byte> about{};

    bool operator==(const WorkerAsk&) const = default;
};

/// A file that was staged, as the descriptor beside it, for the node cache.
struct WorkerKeep {
    std::array<std::byte, 32> stamp{};  ///< Of the source's file.
    std::array<std::byte, 16> sum{};    ///< XXH3-128 over its leaves.
    std::uint64_t bytes = 0;

    bool operator==(const WorkerKeep&) const = default;
};

/// What came of that file here before it was broken off, or is all of it here? One at a time.
/// (The answer has a content if it is all.)
struct WorkerSeek {
    std::array<std::byte, 32> stamp{};  ///< Of the source's file.

    bool operator==(const WorkerSeek&) const = default;
};

/// A file that is being written, with its note (content/part_note.h), as the descriptor beside
/// it: if this stage is broken off, that is what had come.
struct WorkerBegun {
    std::array<std::byte, 32> stamp{};  ///< Of the source's file.
    std::uint64_t bytes = 0;            ///< When it is whole.

    bool operator==(const WorkerBegun&) const = default;
};

/// What the cache gave is not that content.
struct WorkerSpoilt {
    std::vector<std::byte> content{};

    bool operator==(const WorkerSpoilt&) const = default;
};

/// Entries for the stage's cleanup list (removal/cleanup_entry.h). What is to be removed is
/// told before it has its name, so that a worker that is killed leaves nothing behind.
struct WorkerLeft {
    std::vector<std::string> entries{};

    bool operator==(const WorkerLeft&) const = default;
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
                                WorkerLeft>;

/// Requires every field within its limit (nodes, roots and texts as in message.h); the sentence
/// and the statistics are cut, the rest is an invariant.
[[nodiscard]] std::vector<std::byte> encode_to_worker(const ToWorker& message);
[[nodiscard]] std::vector<std::byte> encode_from_worker(const FromWorker& message);

/// Fails (Blame::internal) on anything but exactly one well-formed message of our version.
[[nodiscard]] Result<ToWorker> decode_to_worker(Bytes message);
[[nodiscard]] Result<FromWorker> decode_from_worker(Bytes message);

/// Sends one encoded message. On a non-blocking socket that is full the error's cause is EAGAIN
/// and nothing was sent. A peer that is gone is EPIPE, without a signal.
/// `file`: a descriptor beside a message of at most kMaxDatagram, borrowed; -1: none.
[[nodiscard]] Status send_to_peer(int fd, Bytes message, int file = -1);

/// What a look at the socket gave.
struct PeerMessage {
    enum class Kind : unsigned char { message, nothing_yet, closed } kind = Kind::nothing_yet;
    std::vector<std::byte> message;
    UntrustedFd file{};  ///< What came beside it, if anything did.
};

/// Takes one message of at most `limit` bytes. Waits only if the socket blocks. Fails on a
/// datagram that is no message of ours, and on more than one descriptor.
/// `closer`: the peer's user's.
[[nodiscard]] Result<PeerMessage> receive_from_peer(
    int fd, std::size_t limit, const CloserPtr& closer = std::make_shared<DeferredCloser>());

}  // namespace stage
