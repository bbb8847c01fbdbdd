// The messages between the plugin or the command `stagecast` and the node's daemon.
//
// They travel over /run/stagecast/stagecastd.sock (a stream) in frames of a 32-bit length and
// at most kMaxMessageBytes bytes; a message is version, type, body, in network byte order
// (base/codec.h). A connection carries one request and one answer:
//
// * STAGE: VERDICT, when the group has decided (or Refused at once).
// * QUERY: VERDICT, when it is decided; VerdictState::unknown if that stage was not announced
//   here.
// * END: ACK, at once; the clean-up goes on behind it.
// * PING: PONG.
// * PUSH: REPORT, when the push has ended; closing the connection ends it.
// * STATUS and TICKET: REPORT, at once.
//
// A REPORT is JSON, for the command `stagecast`. The daemon accepts PING, STATUS and TICKET of
// any user (STATUS reports only a user's own jobs), the rest of root only (SO_PEERCRED).
// Although root sends it, the content (specs, work_dir, node_list) is from the environment of a
// prolog, which the user can forge: decode_request() bounds every field, and
// parse_serialized() of stage_spec.h checks the specs again. Names may hold any byte but NUL:
// print them through printable().
//
// The daemon's obligations to the plugin:
// * It answers a PING, a QUERY of a decided stage and an END within seconds: the plugin takes
//   silence for a stopped daemon.
// * A STAGE whose specs do not parse (or are empty: too long to send), or whose node list or
//   node name is empty, is a failed stage with a sentence, and remembered for QUERY.
// * A connection that closes before its verdict means that the prolog or the step was killed.
// * END may never arrive, for a job or for a step: slurmstepd and prologs can be killed, too.
// * A node whose plugin cannot be loaded (`optional` in plugstack.conf: Slurm continues without
//   it) never sends its STAGE. The daemon bounds that wait, and the group's verdict fails,
//   naming the node and its plugin: every other node's plugin, first of all the batch host's,
//   learns it by its VERDICT and fails the job's tasks.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stage {

inline constexpr std::uint8_t kControlVersion = 1;
inline constexpr const char* kControlSocket = "/run/stagecast/stagecastd.sock";
/// Limit of a message, without the frame's length, bytes. Larger than the sum of the limits
/// below.
inline constexpr std::size_t kMaxMessageBytes = 64U << 10U;
inline constexpr std::size_t kMaxAnswerBytes = 4U << 20U;  ///< A report on many nodes.
inline constexpr std::size_t kMaxReportBytes = kMaxAnswerBytes - 64;
inline constexpr std::size_t kMaxSpecsBytes = 32U << 10U;  ///< All specs of a job, serialised.
inline constexpr std::size_t kMaxNodeListBytes = 20U << 10U;  ///< A list compressed by Slurm.
inline constexpr std::size_t kMaxPathBytes = 4096;            ///< PATH_MAX.
inline constexpr std::size_t kMaxNameBytes = 255;             ///< A node's name.
inline constexpr std::size_t kMaxSentenceBytes = 4096;
inline constexpr std::size_t kMaxDirectories = 64;          ///< Directories in a verdict.
inline constexpr std::size_t kMaxDroppedBytes = 8U << 10U;  ///< Names of dropped nodes.
inline constexpr std::size_t kMaxSpecs = 256;  ///< Specs of one stage; more belong in a @list.

/// The step of a stage that belongs to the whole job.
inline constexpr std::uint32_t kWholeJob = 0xffffffffU;

/// In a QUERY: the restart of the job that was announced here last. slurmstepd does not know
/// the restart count of a batch step (Slurm 22.05.8, measured: S_SLURM_RESTART_COUNT is 0 and
/// the environment has none); but no step begins before the prolog of its own restart has
/// announced it here.
inline constexpr std::uint32_t kLatestLife = 0xffffffffU;

/// Identifies a stage. A requeued job keeps its id and has another `restart`.
struct StageKey {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = kWholeJob;
    std::uint32_t restart = 0;

    auto operator<=>(const StageKey&) const = default;
};

/// Announces a job on this node: only this request can start a worker.
struct StageRequest {
    StageKey key{};
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::string node_name{};  ///< Slurm's name of this node.
    std::string node_list{};  ///< The job's (or step's) nodes, "n[0-7,9]".
    std::string work_dir{};   ///< Absolute, or empty. Relative sources lie below it.
    std::string specs{};      ///< stage_spec.h: parse_serialized().
    /// A whole job, announced by a step and not by a prolog: it is unknown whether the nodes
    /// are the job's.
    bool is_late = false;

    bool operator==(const StageRequest&) const = default;
};

/// Asks for a stage's result. With restart == kLatestLife: of the latest restart that this node
/// knows.
struct QueryRequest {
    StageKey key{};

    bool operator==(const QueryRequest&) const = default;
};

/// Reports that a job (step_id == kWholeJob: with all its steps) or a step has ended on this
/// node.
struct EndRequest {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = kWholeJob;

    bool operator==(const EndRequest&) const = default;
};

/// The operation of a push. Encoded by number: append only.
enum class PushMode : std::uint8_t {
    push = 0,
    look = 1,     ///< Only the preflight check (--dry-run).
    compare = 2,  ///< Only list the nodes with the same content (--verify).
};

/// The job id of all pushes: pushes and their rounds are distinguished by step and restart,
/// which the node that begins draws at random.
inline constexpr std::uint32_t kPushJob = 0;

/// Requests a push to nodes over the daemons; only root may.
struct PushRequest {
    StageKey id{};
    PushMode mode = PushMode::push;
    std::uint64_t rate = 0;       ///< Limit, bits per second; 0: the site's RateMax.
    std::uint32_t timeout_s = 0;  ///< 0: none.
    std::string node_list{};      ///< "n[0-7,9]".
    std::string specs{};          ///< One file or tree, with an absolute destination.
    /// In another cluster the push has ended when its gateway holds the files.
    bool ends_at_gateway = false;

    bool operator==(const PushRequest&) const = default;
};

/// The kind of a STATUS. Encoded by number: append only.
enum class StatusKind : std::uint8_t {
    running = 0,  ///< Running stages and pushes.
    explain = 1,  ///< Where the time of one went, running or ended.
};

struct StatusRequest {
    StatusKind kind = StatusKind::running;
    /// The job; kWholeJob as job_id: all. For a push its id.
    StageKey key{.job_id = kWholeJob};

    bool operator==(const StatusRequest&) const = default;
};

/// Asks for a ticket for files of the asking user, for jobs on another cluster (spec/ticket.h).
struct TicketRequest {
    std::string cluster{};
    std::uint32_t for_uid = 0;         ///< The user's there.
    std::uint32_t lifetime_s = 0;      ///< 0: as long as the site allows.
    std::vector<std::string> paths{};  ///< 1 to kMaxSpecs.

    bool operator==(const TicketRequest&) const = default;
};

struct PingRequest {
    bool operator==(const PingRequest&) const = default;
};

using Request = std::variant<StageRequest,
                             QueryRequest,
                             EndRequest,
                             PingRequest,
                             PushRequest,
                             StatusRequest,
                             TicketRequest>;

/// The result of a stage, the same on every node of it but a dropped one. Encoded by number:
/// append only.
enum class VerdictState : std::uint8_t {
    ok = 0,       ///< Everything is where it should be.
    partial = 1,  ///< All but specs marked `optional`, or but nodes: the job runs.
    failed = 2,   ///< The job must not run; `sentence` says why.
    unknown = 3,  ///< This stage was not announced to this daemon.
    busy = 4,     ///< Not decided within the daemon's time limit.
    /// This node has failed, and the job goes on without it: it must not run here.
    dropped = 5,
};

/// This node has no files, and no task may run on it.
[[nodiscard]] constexpr bool is_failure(VerdictState state) {
    return state == VerdictState::failed || state == VerdictState::dropped;
}

struct Verdict {
    VerdictState state = VerdictState::unknown;
    Blame blame = Blame::internal;  ///< The party to blame for a failure.
    std::string sentence{};         ///< Empty if ok; no newline, "node n3: /a/b: No space ...".
    std::string stage_dir{};        ///< $STAGECAST_DIR, or a step's; empty if there is none.
    /// The files' absolute paths in the order of the specs; "" for an optional one that is
    /// missing. After them, each with a trailing slash, the directories of libraries.
    std::vector<std::string> paths{};
    /// Directories, at most kMaxDirectories, that contain all files staged here, including a
    /// list's files, which have no path above. A task that sees other directories there does
    /// not see its files (spank/job/visibility.h).
    std::vector<std::string> directories{};
    /// The nodes that the job goes on without, with commas between them.
    std::string dropped_nodes{};

    bool operator==(const Verdict&) const = default;
};

struct Ack {
    bool operator==(const Ack&) const = default;
};

struct Pong {
    std::string version{};  ///< The daemon's version, "0.1.0".

    bool operator==(const Pong&) const = default;
};

/// The request was refused: not root, another version, or invalid.
struct Refused {
    Blame blame = Blame::internal;
    std::string sentence{};

    bool operator==(const Refused&) const = default;
};

/// For `stagecast`: JSON, in UTF-8.
struct Report {
    std::string json{};

    bool operator==(const Report&) const = default;
};

using Answer = std::variant<Verdict, Ack, Pong, Refused, Report>;

/// True if it may be encoded: each text within its field's limit and all within a message.
/// Check before encoding untrusted values: a user's environment, a worker's list of paths.
[[nodiscard]] bool fits(const StageRequest& request);
[[nodiscard]] bool fits(const PushRequest& request);
[[nodiscard]] bool fits(const TicketRequest& request);
[[nodiscard]] bool fits(const Verdict& verdict);

/// Encodes a key, as in every message that names a stage: three u32.
void put_key(ByteWriter& writer, const StageKey& key);
[[nodiscard]] StageKey take_key(ByteReader& reader);

/// Encodes a message without its frame. Requires values that fit(); sentences are truncated.
[[nodiscard]] std::vector<std::byte> encode(const Request& request);
[[nodiscard]] std::vector<std::byte> encode(const Answer& answer);

/// Fails (Blame::internal) on anything but exactly one well-formed message of this version.
[[nodiscard]] Result<Request> decode_request(Bytes message);
[[nodiscard]] Result<Answer> decode_answer(Bytes message);

[[nodiscard]] std::string_view to_string(VerdictState state);

/// Escapes `text` for messages: controls (C1, too), invalid UTF-8, and backslash as \n, \\ or
/// \x1b.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace stage
