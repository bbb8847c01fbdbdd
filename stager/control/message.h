// What do the plugin and its node's daemon say to each other?
//
// Over /run/stagecast/stagecastd.sock (a stream): frames of a 32-bit length and so many bytes,
// at most kMaxMessageBytes; a message is version, type, body, in network byte order
// (base/codec.h). One request a connection, one answer:
//
//     STAGE  -> VERDICT, when the group has decided (or Refused at once)
//     QUERY  -> VERDICT, when it is decided; State::unknown if nobody announced that stage here
//     END    -> ACK, at once; the clean-up goes on behind it
//     PING   -> PONG
//     PUSH   -> REPORT, when the push has ended; who hangs up before ends it
//     STATUS -> REPORT, at once
//
// A REPORT is JSON, for the command `stagecast`. The daemon takes PING and STATUS from anybody
// (STATUS tells a user of the own jobs only), the rest from root alone (SO_PEERCRED). Root it
// is, but what it passes on (specs, work_dir, node_list) came from the environment of a prolog,
// which is the user's to forge: decode_request() bounds every field, and parse_serialized() of
// stage_spec.h checks the specs again. Names may hold any byte but NUL: print them through
// printable().
//
// What the daemon owes the plugin:
// * A PING, a QUERY of what is decided and an END are answered within seconds, whatever goes
// on: the
//   plugin takes silence for a stopped daemon.
// * A STAGE whose specs do not parse (or are empty: too long to send), or whose node list or
// node
//   name is empty, is a failed stage with a sentence, and remembered for QUERY like any other.
// * A connection that closes before its verdict: the prolog or the step was killed.
// * END may never come, for a job or for a step: slurmstepd and prologs can be killed, too.
// * A node whose plugin cannot be loaded (`optional` in plugstack.conf: Slurm goes on without
// it)
//   never sends its STAGE. Bound that wait, and let the group's verdict fail naming the node
//   and its plugin: every other node's plugin, the batch host's first of all, learns it by its
//   VERDICT and fails the job's tasks.
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
/// A whole message, without the frame's length, bytes. Larger than the sum of the limits below.
inline constexpr std::size_t kMaxMessageBytes = 64U << 10U;
inline constexpr std::size_t kMaxAnswerBytes = 4U << 20U;  ///< A report on many nodes.
inline constexpr std::size_t kMaxReportBytes = kMaxAnswerBytes - 64;
inline constexpr std::size_t kMaxSpecsBytes = 32U << 10U;  ///< All specs of a job, serialised.
inline constexpr std::size_t kMaxNodeListBytes = 20U << 10U;  ///< As Slurm compresses it.
inline constexpr std::size_t kMaxPathBytes = 4096;            ///< PATH_MAX.
inline constexpr std::size_t kMaxNameBytes = 255;             ///< A node's name.
inline constexpr std::size_t kMaxSentenceBytes = 4096;
inline constexpr std::size_t kMaxDirectories = 64;  ///< Of a verdict.
inline constexpr std::size_t kMaxSpecs = 256;  ///< Specs of one stage; more belong in a @list.

/// The step of a stage that belongs to the whole job.
inline constexpr std::uint32_t kWholeJob = 0xffffffffU;

/// In a QUERY: whichever life of the job was announced here last. slurmstepd does not know the
/// restart count of a batch step (Slurm 22.05.8, measured: S_SLURM_RESTART_COUNT is 0 and the
/// environment has none); but no step begins before its own life's prolog has announced it
/// here.
inline constexpr std::uint32_t kLatestLife = 0xffffffffU;

/// Which stage. A requeued job repeats its id: `restart` tells the lives apart.
struct StageKey {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = kWholeJob;
    std::uint32_t restart = 0;

    auto operator<=>(const StageKey&) const = default;
};

/// "The job is here": the only thing that may start a worker on this node.
struct StageRequest {
    StageKey key{};
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::string node_name{};  ///< This node, as Slurm calls it.
    std::string node_list{};  ///< The job's (or step's) nodes, "n[0-7,9]".
    std::string work_dir{};   ///< Absolute, or empty. Relative sources lie below it.
    std::string specs{};      ///< stage_spec.h: parse_serialized().
    /// Of a whole job, said by a step and not by a prolog: whether the nodes are the job's is
    /// not known.
    bool is_late = false;

    bool operator==(const StageRequest&) const = default;
};

/// "What became of it?" With restart == kLatestLife: of the newest life that this node knows.
struct QueryRequest {
    StageKey key{};

    bool operator==(const QueryRequest&) const = default;
};

/// "The job (step_id == kWholeJob: with all its steps) or this step has ended here."
struct EndRequest {
    std::uint32_t job_id = 0;
    std::uint32_t step_id = kWholeJob;

    bool operator==(const EndRequest&) const = default;
};

/// What is to be done to the nodes of a push. Travels by number: append only.
enum class PushMode : std::uint8_t {
    push = 0,
    look = 1,     ///< Only say whether it would go well (--dry-run).
    compare = 2,  ///< Only say who has the content already (--verify).
};

/// No job: pushes and their rounds are told apart by step and restart, drawn by whoever begins.
inline constexpr std::uint32_t kPushJob = 0;

/// "Bring this to those nodes", root's own, over the daemons.
struct PushRequest {
    StageKey id{};
    PushMode mode = PushMode::push;
    std::uint64_t rate = 0;       ///< No faster, bits per second; 0: the site's RateMax.
    std::uint32_t timeout_s = 0;  ///< 0: none.
    std::string node_list{};      ///< "n[0-7,9]".
    std::string specs{};          ///< Of one file or tree, with an absolute destination.

    bool operator==(const PushRequest&) const = default;
};

/// What a STATUS asks for. Travels by number: append only.
enum class StatusKind : std::uint8_t {
    running = 0,  ///< Stages and pushes under way.
    explain = 1,  ///< Where the time of one went, under way or ended.
};

struct StatusRequest {
    StatusKind kind = StatusKind::running;
    /// Of one job; kWholeJob as job_id: of all. Of a push: its id.
    StageKey key{.job_id = kWholeJob};

    bool operator==(const StatusRequest&) const = default;
};

struct PingRequest {
    bool operator==(const PingRequest&) const = default;
};

using Request = std::
    variant<StageRequest, QueryRequest, EndRequest, PingRequest, PushRequest, StatusRequest>;

/// The outcome of a stage, the same on every node of it. Travels by number: append only.
enum class VerdictState : std::uint8_t {
    ok = 0,       ///< Everything is where it should be.
    partial = 1,  ///< All but specs marked `optional`: the job runs.
    failed = 2,   ///< The job must not run; `sentence` says why.
    unknown = 3,  ///< Nobody announced this stage to this daemon.
    busy = 4,     ///< Not decided within the daemon's patience with this question.
};

struct Verdict {
    VerdictState state = VerdictState::unknown;
    Blame blame = Blame::internal;  ///< Of a failure.
    std::string sentence{};         ///< Empty if ok; no newline, "node n3: /a/b: No space ...".
    std::string stage_dir{};        ///< $STAGECAST_DIR, or a step's; empty if there is none.
    /// Where the files lie, absolute, in the order of the specs; "" for an optional one that is
    /// not here. Behind them, each with a slash at its end, the directories of libraries.
    std::vector<std::string> paths{};
    /// Directories, at most kMaxDirectories, below which all that was staged here lies: those
    /// of a list's files, too, which have no path of their own. A task that sees others there
    /// does not see its files (spank/job/visibility.h).
    std::vector<std::string> directories{};

    bool operator==(const Verdict&) const = default;
};

struct Ack {
    bool operator==(const Ack&) const = default;
};

struct Pong {
    std::string version{};  ///< Of the daemon, "0.1.0".

    bool operator==(const Pong&) const = default;
};

/// The request was not taken at all: not root, another version, no sense in it.
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

/// Whether it may be encoded: each text within its field's limit and all within a message. Ask
/// before encoding what others made up: a user's environment, a worker's list of paths.
[[nodiscard]] bool fits(const StageRequest& request);
[[nodiscard]] bool fits(const PushRequest& request);
[[nodiscard]] bool fits(const Verdict& verdict);

/// A key as it stands in every message that names a stage: three u32.
void put_key(ByteWriter& writer, const StageKey& key);
[[nodiscard]] StageKey take_key(ByteReader& reader);

/// A message without its frame. What does not fit is an invariant, but sentences are cut.
[[nodiscard]] std::vector<std::byte> encode(const Request& request);
[[nodiscard]] std::vector<std::byte> encode(const Answer& answer);

/// Fails (Blame::internal) on anything but exactly one well-formed message of our version.
[[nodiscard]] Result<Request> decode_request(Bytes message);
[[nodiscard]] Result<Answer> decode_answer(Bytes message);

[[nodiscard]] std::string_view to_string(VerdictState state);

/// `text` for a person: controls (C1, too), what is no UTF-8, and backslash as \n, \\ or \x1b.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace stage
