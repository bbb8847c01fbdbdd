// What does Slurm know: which address has a node, which nodes does a list name, does the job
// run?
//
// libslurm answers, but it blocks for as long as slurmctld is silent and ends the process when
// it dislikes slurm.conf. So each question is asked in a child of its own (a spawner role): the
// child gets a deadline, and whatever becomes of it, the daemon sees an answer or the end of a
// socket.
//
//     Result<SlurmQuery> query = SlurmQuery::start(spawner, kRoleSlurmQuery, question, now);
//     epoll: EPOLLIN on query->fd() -> query->on_readable(); at query->deadline() ->
//     on_time(now); if (query->answer()) ...                                    //
//     Result<SlurmAnswer>, then drop it
//
// slurm_query.cpp and slurm_nodes.cpp are the files of stager/ that include <slurm/...>.
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

/// The names of a node list in its own order: rank order.
struct ExpandQuestion {
    std::string node_list;
};
/// The same with each node's address (NodeAddr by slurmctld, made numeric here).
struct ResolveQuestion {
    std::string node_list;
    bool may_miss = false;  ///< Nodes without an address get none, instead of no answer at all.
};
/// The nodes that files' readers are agreed upon at (cache/keeper_choice.h), with addresses.
struct KeepersQuestion {};
/// One job with all that a stage needs to know of it. The answer is a SlurmJob.
struct JobStateQuestion {
    std::uint32_t job_id = 0;
};
/// The states of many jobs, and no more of them. The answer is a SlurmJob each, in this order.
struct JobsQuestion {
    std::vector<std::uint32_t> job_ids;
};
/// No question: a whole job's staging has failed. `sentence` becomes the job's AdminComment,
/// and with `requeue` a batch job that still runs and may be requeued goes back to the queue.
/// The answer is a SlurmJob: `ended` if it was requeued, else `alive`, with the reason as its
/// word.
struct FailureOrder {
    std::uint32_t job_id = 0;
    std::uint32_t restart = 0;  ///< Another life of the job is left alone.
    bool requeue = false;
    std::string sentence;
};
/// No question: the job (or, where `step_id` names one, the step) is to be cancelled.
/// `sentence` goes to whoever waits at a terminal, and into the job's admin comment. The answer
/// is a SlurmJob; `alive` if the job is left alone, as one that has been requeued since.
struct CancelOrder {
    std::uint32_t job_id = 0;
    std::optional<std::uint32_t> step_id;
    std::uint32_t restart = 0;  ///< Of a whole job; ignored for a step.
    std::string sentence;
    bool only_in_prolog = false;  ///< A job for which Slurm does not await a prolog is left.
};
using SlurmQuestion = std::variant<ExpandQuestion,
                                   ResolveQuestion,
                                   JobStateQuestion,
                                   CancelOrder,
                                   KeepersQuestion,
                                   JobsQuestion,
                                   FailureOrder>;

struct SlurmNode {
    std::string name;
    std::string address;  ///< Numeric, of any family; empty in the answer to an ExpandQuestion.
    bool operator==(const SlurmNode&) const = default;
};
/// What a stage needs to know of Slurm's job states.
enum class SlurmJobState : std::uint8_t {
    alive = 0,       ///< Running or configuring: staging goes on.
    ended = 1,       ///< Cancelled, failed, timed out, preempted, requeued, ...
    absent = 2,      ///< slurmctld answers that it knows no such job.
    suspended = 3,   ///< Or stopped: it goes on with its files.
    completing = 4,  ///< Its processes may be here yet; an epilog follows.
};
/// Of a job_state as slurmctld tells it.
[[nodiscard]] SlurmJobState state_of_job(std::uint32_t slurm_state);
struct SlurmJob {
    SlurmJobState state = SlurmJobState::alive;
    std::uint32_t restart_count = 0;  ///< 0 in the answer to a JobsQuestion.
    std::string word;                 ///< Slurm's name of the state, "CANCELLED".
    std::string node_list{};  ///< Of the allocation; in the answer to a JobStateQuestion only.
    bool is_in_prolog = false;        ///< Known to the child that asks only.
    std::uint32_t array_job_id = 0;   ///< Likewise; 0: no task of an array.
    std::uint32_t array_task_id = 0;  ///< Likewise.
    std::uint32_t uid = 0;            ///< Its owner; in the answer to a JobStateQuestion only.
    std::uint32_t gid = 0;            ///< Likewise.
    bool operator==(const SlurmJob&) const = default;
};
using SlurmAnswer = std::variant<std::vector<SlurmNode>, SlurmJob, std::vector<SlurmJob>>;

/// More nodes than this in one list are refused.
inline constexpr std::size_t kNodesMax = 65'536;
/// More jobs than this in one question are refused.
inline constexpr std::size_t kJobsMax = 4096;
/// How long a child may take. An unanswering slurmctld costs one such child at a time.
inline constexpr Duration kSlurmAnswerMax = std::chrono::seconds{15};

/// The child's whole life: one question from `fd`, one answer to it. A role for the spawner
/// (socket type SOCK_STREAM). Blocks, and may exit().
int run_slurm_query(int fd);

/// A question under way. Dropping it is always allowed: the child ends by itself.
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

    /// Nothing yet; or the answer; or why there is none (slurmctld does not answer, no
    /// slurm.conf, an unknown node, ...), a sentence. No answer is no verdict about the job.
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
