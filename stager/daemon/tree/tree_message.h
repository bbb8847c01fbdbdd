// What do the daemons of one stage say to each other?
//
// Over a sealed link (stager/link) that serves one stage and one edge of its tree. The parent
// speaks first, SETUP; then anything from the table. A child that is adopted gets another
// SETUP, from an ancestor, with the same session. Durations, never times: clocks differ.
//
// clang-format off
//     down  SETUP     you are rank TO of this stage, I am rank FROM; the plan; time left
//     up    GATHERED  what my subtree has to say in a collective
//     down  RESULT    what came of it (fence, group, cards, listening)
//     up    FAILED    nodes that failed, and why
//     down  VERDICT   the group's, final
//     up    SETTLED   my subtree knows the verdict
//     up    DIRECT    PMIx fails on some node: let the daemons carry the cards
//     down  DIRECT    so be it: every node begins its wire-up anew
//     both  PULSE     I am here; upwards: how far my subtree is
// clang-format on
//
// A node that waits for a SETUP in vain may ask the root's daemon, over a link of its own: ASK,
// and the answer is TELL. That link ends with it. Before a push its first node asks each other
// one: EXAMINE, and the answer is EXAMINED, after as many PULSEs as it takes. A node that is
// asked about a job by its user asks the job's first one: QUESTION, and the answer is REPORT.
//
// A node that lacks a file in its cache asks the file's keeper, over a link of its own: LEASE.
// Both send PULSEs then; LEASED says "read it" or "fetch it there", HELD how that went, and the
// lease ends with the link. Who fetches asks the holder: FETCH, then FOUND, then TAKE; after
// that the connection carries the file (cache/sealed_copy.h) and no message any more.
#pragma once

#include "stager/cache/leases.h"
#include "stager/content/content.h"
#include "stager/control/message.h"
#include "stager/daemon/tree/failures.h"
#include "stager/daemon/tree/gather.h"
#include "stager/link/frame_seal.h"

#include <array>
#include <variant>

namespace stage {

inline constexpr std::uint8_t kTreeVersion = 1;
/// Of a list of contributions, bytes: it fits a frame with what is around it.
inline constexpr std::size_t kMaxGathered = kFrameMax - 64;

/// Travels by number: append only.
enum class Collective : std::uint8_t {
    fence = 1,      ///< Opaque bytes of each node's PMIx host; all of them, in rank order.
    group = 2,      ///< Nothing from each; a context id for all, 64 bits.
    outcome = 3,    ///< What each node's worker came to; ends in VERDICT.
    cards = 4,      ///< Each worker's card; all of them, as contributions, in rank order.
    listening = 5,  ///< Nothing from each whose worker takes packets; nothing for all.
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

/// The same on every node. A node adds its own directory and paths (control/message.h).
struct GroupVerdict {
    VerdictState state = VerdictState::failed;
    Blame blame = Blame::internal;
    std::string sentence;
    Rank culprit{};  ///< Of a failure: whom the sentence names first.

    bool operator==(const GroupVerdict&) const = default;
};

struct SettledMessage {
    bool operator==(const SettledMessage&) const = default;
};

/// How far a subtree is; what is not known yet is 0.
struct TreeProgress {
    std::uint32_t done = 0;         ///< Nodes that hold everything.
    std::uint64_t bytes_least = 0;  ///< Of whoever holds the least.
    Rank slowest;                   ///< That one.

    bool operator==(const TreeProgress&) const = default;
};

/// What its sender and all below it have; downwards it says nothing.
struct PulseMessage {
    TreeProgress progress{};

    bool operator==(const PulseMessage&) const = default;
};

struct DirectMessage {
    bool operator==(const DirectMessage&) const = default;
};

/// Up: `rank` can't open the group's port, and other programs there have `taken`. Down: this is
/// the port from now on, and the wire-up begins anew (as by DirectMessage).
struct PortsMessage {
    std::uint32_t move = 0;  ///< How often the port has been drawn again; up: so far.
    std::uint16_t port = 0;  ///< Down only.
    Rank rank;               ///< Up only, and so are these.
    std::vector<std::uint16_t> taken{};

    bool operator==(const PortsMessage&) const = default;
};
/// More are not told.
inline constexpr std::size_t kTakenPortsMax = 1024;

/// "Has your plugin announced this stage?"
struct AskMessage {
    StageKey key;

    bool operator==(const AskMessage&) const = default;
};

/// Travels by number. Queued: announced, and it waits until it may begin; a daemon that does
/// not know that word takes it for announced.
enum class TellWord : std::uint8_t { unannounced, announced, queued };

struct TellMessage {
    TellWord word = TellWord::unannounced;

    bool operator==(const TellMessage&) const = default;
};

/// Before a push: "would this go well on your node?"
struct ExamineMessage {
    PushMode mode = PushMode::push;  ///< compare: what lies there?
    std::string specs;
    std::vector<std::byte> manifest;    ///< Of the source; empty if it is too long for that.
    std::array<std::byte, 16> token{};  ///< Of its plans (push_permits.h).

    bool operator==(const ExamineMessage&) const = default;
};

/// An empty sentence: it would.
struct ExaminedMessage {
    std::string sentence;
    std::uint64_t bytes = 0;
    std::string digest;

    bool operator==(const ExaminedMessage&) const = default;
};

/// "May I read this file?" From whoever can't wait for another reader, because others wait for
/// it, !may_wait.
struct LeaseMessage {
    LeasedFile file;
    bool may_wait = true;

    bool operator==(const LeaseMessage&) const = default;
};

/// Without a node: read it. Else that one's cache holds it.
struct LeasedMessage {
    std::string node;
    std::string address;  ///< Numeric.

    bool operator==(const LeasedMessage&) const = default;
};

/// "It is in my cache now", or "I did not get it there".
struct HeldMessage {
    bool is_held = false;

    bool operator==(const HeldMessage&) const = default;
};

/// "Have you this file in your cache?"
struct FetchMessage {
    LeasedFile file;

    bool operator==(const FetchMessage&) const = default;
};

/// 0 bytes: no, or, with a content, not now: too many are taking something. Else the key,
/// fresh, under which they may come.
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

/// "What may this user hear of that job?"
struct ReportQuestion {
    std::uint32_t uid = 0;
    StatusRequest request;

    bool operator==(const ReportQuestion&) const = default;
};

struct ReportMessage {
    std::string json;

    bool operator==(const ReportMessage&) const = default;
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
                                 PortsMessage>;

[[nodiscard]] std::vector<std::byte> encode(const TreeMessage& message);
/// Fails (Blame::node) on anything but exactly one well-formed message of our version.
[[nodiscard]] Result<TreeMessage> decode_tree_message(Bytes bytes);

}  // namespace stage
