// Encodes and decodes the messages between the daemons of one stage.
//
// They travel over a sealed link (stager/link) that serves one stage and one edge of its
// control tree. The parent sends SETUP first; then either side sends what the table allows. A
// child that is re-parented receives another SETUP, from an ancestor, with the same session.
// Messages carry durations, never times of day, because clocks differ.
//
// clang-format off
//     down  SETUP     you are rank TO of this stage, I am rank FROM; the plan; time left
//     up    GATHERED  my subtree's contributions to a collective
//     down  RESULT    the result of a collective (fence, group, cards, listening)
//     up    FAILED    nodes that failed, and why
//     down  DROP      the source went on without a node, which may not know it
//     down  VERDICT   the group's, final
//     up    SETTLED   my subtree knows the verdict
//     up    DIRECT    PMIx fails on some node: the daemons should carry the cards
//     down  DIRECT    agreed: every node starts its wire-up again
//     both  PULSE     keep-alive; upwards: the progress of my subtree
// clang-format on
//
// A node that waits for SETUP in vain may ask the root's daemon, over a link of its own: ASK,
// answered by TELL, which ends that link. Before a push its first node asks every other one:
// EXAMINE, answered by EXAMINED, after any number of PULSEs. A node whose user asks about a job
// asks the job's first node: QUESTION, answered by REPORT.
//
// A daemon of another cluster asks a gateway to carry a push on: PASSAGE, answered by EXAMINED
// and, when the push has ended there, by REPORT. The gateway sends PULSEs meanwhile, and the
// end of the link ends the push.
//
// The first node of a job with files of another cluster asks a gateway there for them: IMPORT,
// answered by EXPORT after any number of PULSEs. If it still wants them, it answers EXAMINED,
// and the gateway sends the SETUP of the leg over the same link.
//
// A node that lacks a file in its cache asks the file's lease server, over a link of its own:
// LEASE. Both ends then send PULSEs; LEASED says "read it" or "fetch it there", HELD how that
// went, and the lease ends with the link. A node that fetches sends the holder FETCH, receives
// FOUND and sends TAKE; after that the connection carries the file (cache/sealed_copy.h) and no
// more messages.
#pragma once

#include "stager/cache/leases.h"
#include "stager/content/content.h"
#include "stager/control/message.h"
#include "stager/daemon/tree/failures.h"
#include "stager/daemon/tree/gather.h"
#include "stager/link/frame_seal.h"
#include "transport/settings/passage_ack.h"

#include <array>
#include <variant>

namespace stage {

inline constexpr std::uint8_t kTreeVersion = 1;
/// Bytes of a list of contributions: it fits a frame with what is around it.
inline constexpr std::size_t kMaxGathered = kFrameMax - 64;

/// Encoded by number: append only.
enum class Collective : std::uint8_t {
    fence = 1,      ///< Opaque bytes of each node's PMIx host; all of them, in rank order.
    group = 2,      ///< No bytes from a node; a context id for all, 64 bits.
    outcome = 3,    ///< The outcome of each node's worker; ends in VERDICT.
    cards = 4,      ///< Each worker's card; all of them, as contributions, in rank order.
    listening = 5,  ///< No bytes, from each node whose worker receives packets; none for all.
};

struct SetupMessage {
    StageKey key;
    Rank from;
    Rank to;
    std::uint32_t remaining_ms = 0;
    std::vector<std::byte> plan;  ///< plan.h

    bool operator==(const SetupMessage&) const = default;
};

struct GatheredMessage {
    Collective kind = Collective::fence;
    std::uint32_t sequence = 0;
    std::vector<Contribution> contributions;

    bool operator==(const GatheredMessage&) const = default;
};

struct ResultMessage {
    Collective kind = Collective::fence;
    std::uint32_t sequence = 0;
    std::vector<std::byte> bytes;

    bool operator==(const ResultMessage&) const = default;
};

struct FailedMessage {
    std::vector<Failure> failures;

    bool operator==(const FailedMessage&) const = default;
};

/// The verdict of all nodes. Each node adds its own directory and paths (control/message.h).
struct GroupVerdict {
    VerdictState state = VerdictState::failed;
    Blame blame = Blame::internal;
    std::string sentence;
    Rank culprit{};  ///< The rank that a failure's sentence names first.
    /// Partial: the nodes that the others went on without, ascending.
    std::vector<Rank> dropped{};

    bool operator==(const GroupVerdict&) const = default;
};

struct SettledMessage {
    bool operator==(const SettledMessage&) const = default;
};

/// The progress of a subtree; what is not known yet is 0.
struct TreeProgress {
    std::uint32_t done = 0;         ///< Nodes that hold everything.
    std::uint64_t bytes_least = 0;  ///< Bytes on the node that holds the least.
    Rank slowest;                   ///< The node that holds the least.

    bool operator==(const TreeProgress&) const = default;
};

/// The progress of the sender and all nodes below it; unused downwards.
struct PulseMessage {
    TreeProgress progress{};

    bool operator==(const PulseMessage&) const = default;
};

struct DirectMessage {
    bool operator==(const DirectMessage&) const = default;
};

/// Up: `rank` can't open the group's port, and other programs use `taken` there. Down: `port`
/// is the group's from now on, and the wire-up starts again (as by DirectMessage).
struct PortsMessage {
    std::uint32_t move = 0;  ///< How often the port has been drawn again.
    std::uint16_t port = 0;  ///< Down only.
    Rank rank;               ///< Up only, as is `taken`.
    std::vector<std::uint16_t> taken{};

    bool operator==(const PortsMessage&) const = default;
};
/// Further taken ports are left out.
inline constexpr std::size_t kTakenPortsMax = 1024;

/// The broadcast went on without that node: unless it has reported its outcome, it fails.
struct DropMessage {
    Failure failure;

    bool operator==(const DropMessage&) const = default;
};

/// Asks whether the receiver's plugin has announced this stage.
struct AskMessage {
    StageKey key;
    /// The request of the sender's plugin if the job was requeued (requeued_request.h).
    std::optional<StageRequest> request{};

    bool operator==(const AskMessage&) const = default;
};

/// Encoded by number. Queued: announced, and waiting until it may begin; an older daemon that
/// does not know the number takes it for announced.
enum class TellWord : std::uint8_t { unannounced, announced, queued };

struct TellMessage {
    TellWord word = TellWord::unannounced;

    bool operator==(const TellMessage&) const = default;
};

/// Asks a node before a push whether the push would succeed there.
struct ExamineMessage {
    PushMode mode = PushMode::push;  ///< compare: asks for the digest of what is there.
    std::string specs;
    std::vector<std::byte> manifest;    ///< The source's; empty if it is too long to send.
    std::array<std::byte, 16> token{};  ///< The token of the push's plans (push_permits.h).

    bool operator==(const ExamineMessage&) const = default;
};

/// An empty sentence means that the push would succeed.
struct ExaminedMessage {
    std::string sentence;
    std::uint64_t bytes = 0;
    std::string digest;

    bool operator==(const ExaminedMessage&) const = default;
};

/// Asks for the lease of a file. `may_wait` is false for a node that can't wait for another
/// reader, because others wait for it.
struct LeaseMessage {
    LeasedFile file;
    bool may_wait = true;

    bool operator==(const LeaseMessage&) const = default;
};

/// Without a node: the receiver is to read the file. Else that node's cache holds it.
struct LeasedMessage {
    std::string node;
    std::string address;  ///< Numeric.

    bool operator==(const LeasedMessage&) const = default;
};

/// Whether the sender's cache now has the file, or could not get it.
struct HeldMessage {
    bool is_held = false;

    bool operator==(const HeldMessage&) const = default;
};

/// Asks whether the receiver's cache has a file.
struct FetchMessage {
    LeasedFile file;

    bool operator==(const FetchMessage&) const = default;
};

/// 0 bytes: the file is not here, or, with a content, too many transfers are running. Otherwise
/// the fresh key that encrypts the transfer.
struct FoundMessage {
    std::uint64_t bytes = 0;
    Content content;
    std::array<std::byte, 16> key{};
    std::array<std::byte, 12> nonce_base{};

    bool operator==(const FoundMessage&) const = default;
};

struct TakeMessage {
    bool operator==(const TakeMessage&) const = default;
};

/// Asks what this user may know about that job.
struct ReportQuestion {
    std::uint32_t uid = 0;
    StatusRequest request;

    bool operator==(const ReportQuestion&) const = default;
};

struct ReportMessage {
    std::string json;

    bool operator==(const ReportMessage&) const = default;
};

/// Asks a gateway to carry a push on to nodes of its cluster (daemon/gateway/passages.h).
struct PassageMessage {
    std::string specs;
    std::vector<std::byte> manifest;    ///< Like that of EXAMINE.
    std::array<std::byte, 16> token{};  ///< The token of the leg's plan.
    std::string nodes;                  ///< A list of nodes of the gateway's cluster, "n[0-7]".
    std::uint32_t blocks =
        0;  ///< The whole object has as many (transport/run/object/source.h),
    std::uint64_t object_bytes = 0;  ///< and this number of bytes.
    std::uint64_t rate = 0;          ///< Limit, bits per second; 0: the gateway's RateMax.
    PassageAck ack = PassageAck::nodes;

    bool operator==(const PassageMessage&) const = default;
};

/// From a gateway, with an empty digest: some of its nodes may have the files already, and it
/// asks for the digest of the source's content. From the source: the answer; an empty digest if
/// its content can't be read.
struct DigestMessage {
    std::uint64_t bytes = 0;  ///< Like WorkerLook::bytes.
    std::string digest;

    bool operator==(const DigestMessage&) const = default;
};

/// Asks a gateway for files that its cluster's users may read (daemon/gateway/exports.h).
struct ImportMessage {
    std::string specs;                  ///< With cluster and ticket (spec/spec_list.h).
    std::array<std::byte, 16> token{};  ///< For the leg's plan.
    std::uint32_t for_uid = 0;          ///< The job's owner, on the asking cluster.

    bool operator==(const ImportMessage&) const = default;
};

/// With a sentence: the gateway refuses.
struct ExportMessage {
    Blame blame = Blame::internal;
    std::string sentence{};
    std::uint32_t blocks = 0;              ///< Like those of PASSAGE.
    std::uint64_t object_bytes = 0;        ///< Like that of PASSAGE.
    std::array<std::byte, 16> identity{};  ///< WorkerLook::identity.

    bool operator==(const ExportMessage&) const = default;
};

using TreeMessage = std::variant<SetupMessage,
                                 GatheredMessage,
                                 ResultMessage,
                                 FailedMessage,
                                 GroupVerdict,
                                 SettledMessage,
                                 PulseMessage,
                                 AskMessage,
                                 TellMessage,
                                 DirectMessage,
                                 ExamineMessage,
                                 ExaminedMessage,
                                 LeaseMessage,
                                 LeasedMessage,
                                 HeldMessage,
                                 FetchMessage,
                                 FoundMessage,
                                 ReportQuestion,
                                 ReportMessage,
                                 TakeMessage,
                                 PortsMessage,
                                 DropMessage,
                                 PassageMessage,
                                 DigestMessage,
                                 ImportMessage,
                                 ExportMessage>;

[[nodiscard]] std::vector<std::byte> encode(const TreeMessage& message);
/// Fails (Blame::node) unless `bytes` are exactly one well-formed message of our version.
[[nodiscard]] Result<TreeMessage> decode_tree_message(Bytes bytes);

}  // namespace stage
