// Asks Slurm about nodes and jobs from a child process, so that the daemon never blocks.
//
// libslurm blocks while slurmctld is silent, and ends the process if slurm.conf has an error.
// So each question is asked in a child of its own (a spawner role) with a deadline: whatever
// happens to the child, the daemon sees an answer or the end of a socket.
//
//     Result<SlurmQuery> query = SlurmQuery::start(spawner, kRoleSlurmQuery, question, now);
//     epoll: EPOLLIN on query->fd() -> query->on_readable(); at query->deadline() ->
//     on_time(now); if (query->answer()) ... use it, then drop the query
//
// Only slurm_query.cpp and slurm_nodes.cpp of stager/ include <slurm/...>.
#pragma once

#include "stager/spawn/spawner.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stage {

/// The names of a node list in the list's order, which is rank order.
struct ExpandQuestion {
    std::string node_list;
};
/// The names of a node list with addresses (NodeAddr from slurmctld, made numeric here).
struct ResolveQuestion {
    std::string node_list;
    bool may_miss = false;  ///< A node without an address is no error.
};
/// The nodes that serve leases (cache/lease_server_choice.h), with addresses.
struct LeaseServersQuestion {};
/// One job with everything that a stage needs to know of it. The answer is a SlurmJob.
struct JobStateQuestion {
    std::uint32_t job_id = 0;
};
/// The states of many jobs, without other data. The answer is a SlurmJob each, in this order.
struct JobsQuestion {
    std::vector<std::uint32_t> job_ids;
};
/// No question: the stage of a whole job has failed. `sentence` becomes the job's AdminComment
/// unless it is empty, and with `requeue` a batch job that still runs and may be requeued goes
/// back to the queue. It is then kept off `faulty` nodes if others can stand in for them
/// (stand_ins.h). The answer is a SlurmJob: `ended` if it was requeued, else `alive`, with the
/// reason as its word.
struct FailureOrder {
    std::uint32_t job_id = 0;
    std::uint32_t restart = 0;  ///< Another restart of the job is left alone.
    bool requeue = false;
    std::vector<std::string> faulty{};
    std::string sentence;
};
/// No question: how far the stage of a whole job is. A user who waits at a terminal is shown
/// `sentence`; of a batch job it becomes the AdminComment. The answer is the job, as to a
/// JobStateQuestion: nothing is done of one that no longer runs.
struct ProgressOrder {
    std::uint32_t job_id = 0;
    std::uint32_t restart = 0;  ///< Another restart of the job is left alone.
    bool comments = true;       ///< False: the AdminComment is left alone.
    bool is_last = false;       ///< The stage has ended well: at a terminal that shows itself.
    std::string sentence;
};
/// No question: the job (or, if `step_id` names one, the step) is to be cancelled. `sentence`
/// is shown to a user who waits at a terminal, and becomes the job's AdminComment. The answer
/// is a SlurmJob; `alive` if the job is left alone, for instance because it has been requeued.
struct CancelOrder {
    std::uint32_t job_id = 0;
    std::optional<std::uint32_t> step_id;
    std::uint32_t restart = 0;  ///< The restart count of a whole job; ignored for a step.
    std::string sentence;
    bool comments = true;         ///< False: the AdminComment is left alone.
    bool only_in_prolog = false;  ///< Leaves a job alone whose prolog Slurm does not await.
};
using SlurmQuestion = std::variant<ExpandQuestion,
                                   ResolveQuestion,
                                   JobStateQuestion,
                                   CancelOrder,
                                   LeaseServersQuestion,
                                   JobsQuestion,
                                   FailureOrder,
                                   ProgressOrder>;

struct SlurmNode {
    std::string name;
    std::string address;  ///< Numeric, IPv4 or IPv6; empty in the answer to an ExpandQuestion.
    bool operator==(const SlurmNode&) const = default;
};
/// The job states that a stage distinguishes.
enum class SlurmJobState : std::uint8_t {
    alive = 0,       ///< Running or configuring: the stage goes on.
    ended = 1,       ///< Cancelled, failed, timed out, preempted, requeued, ...
    absent = 2,      ///< slurmctld answers that it does not know the job.
    suspended = 3,   ///< Suspended or stopped: the job continues with its files.
    completing = 4,  ///< The job's processes may still run; an epilog follows.
};
/// The state for a job_state of slurmctld's.
[[nodiscard]] SlurmJobState state_of_job(std::uint32_t slurm_state);
struct SlurmJob {
    SlurmJobState state = SlurmJobState::alive;
    std::uint32_t restart_count = 0;  ///< 0 in the answer to a JobsQuestion.
    std::string word;                 ///< Slurm's name of the state, "CANCELLED".
    std::string node_list{};    ///< The allocation; in the answer to a JobStateQuestion only.
    bool is_in_prolog = false;  ///< Known only to the child that asks.
    std::uint32_t array_job_id = 0;   ///< The array's id; 0: the job is not a task of an array.
    std::uint32_t array_task_id = 0;  ///< The task's number in the array.
    std::uint32_t uid = 0;  ///< The job's owner; in the answer to a JobStateQuestion only.
    std::uint32_t gid = 0;  ///< The owner's group; as `uid`.
    bool operator==(const SlurmJob&) const = default;
};
using SlurmAnswer = std::variant<std::vector<SlurmNode>, SlurmJob, std::vector<SlurmJob>>;

/// More nodes than this in one list are refused.
inline constexpr std::size_t kNodesMax = 65'536;
/// Faulty nodes in one order, at most.
inline constexpr std::size_t kFaultyMax = 16;
/// More jobs than this in one question are refused.
inline constexpr std::size_t kJobsMax = 4096;
/// The time that a child may take. A silent slurmctld costs one such child at a time.
inline constexpr Duration kSlurmAnswerMax = std::chrono::seconds{15};

/// The child's main function: reads one question from `fd` and writes one answer to it. A role
/// for the spawner (socket type SOCK_STREAM). Blocks, and may exit().
int run_slurm_query(int fd);

/// A question in progress. It may be dropped at any time: the child ends by itself.
class SlurmQuery {
  public:
    static Result<SlurmQuery> start(Spawner& spawner,
                                    std::uint32_t role,
                                    const SlurmQuestion& question,
                                    Instant now);

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] Instant deadline() const { return deadline_; }
    void on_readable();
    void on_time(Instant now);

    /// Empty until there is an answer or an error (slurmctld does not answer, no slurm.conf, an
    /// unknown node, ...). An error says nothing about the job.
    [[nodiscard]] const std::optional<Result<SlurmAnswer>>& answer() const { return answer_; }

  private:
    SlurmQuery(UniqueFd socket, Instant deadline)
        : socket_{std::move(socket)}, deadline_{deadline} {}

    UniqueFd socket_;
    Instant deadline_;
    std::vector<std::byte> received_;
    std::optional<Result<SlurmAnswer>> answer_;
};

[[nodiscard]] std::vector<std::byte> encode_question(const SlurmQuestion& question);
[[nodiscard]] Result<SlurmQuestion> decode_question(Bytes message);
[[nodiscard]] std::vector<std::byte> encode_slurm_answer(const Result<SlurmAnswer>& answer);
[[nodiscard]] Result<SlurmAnswer> decode_slurm_answer(Bytes message);

}  // namespace stage
