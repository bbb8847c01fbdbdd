#include "stager/slurm/slurm_query.h"

#include "stager/slurm/admin_comment.h"
#include "stager/slurm/slurm_nodes.h"
#include "stager/slurm/slurm_releases.h"
#include "transport/base/codec.h"
#include "transport/base/text.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

namespace stage {
namespace {

constexpr std::size_t kQuestionMax = 1U << 20U;
constexpr std::size_t kAnswerMax = 16U << 20U;
constexpr std::size_t kSentenceMax = 4096;
constexpr std::size_t kLengthBytes = 4;

struct JobsFree {
    void operator()(job_info_msg_t* jobs) const { ::slurm_free_job_info_msg(jobs); }
};
std::string_view word_of(std::uint32_t state) {
    constexpr std::array<std::string_view, JOB_END> kWords{"PENDING",
                                                           "RUNNING",
                                                           "SUSPENDED",
                                                           "COMPLETED",
                                                           "CANCELLED",
                                                           "FAILED",
                                                           "TIMEOUT",
                                                           "NODE_FAIL",
                                                           "PREEMPTED",
                                                           "BOOT_FAIL",
                                                           "DEADLINE",
                                                           "OUT_OF_MEMORY"};
    const std::uint32_t base = state & JOB_STATE_BASE;
    if (base == JOB_PENDING && (state & JOB_REQUEUE) != 0) {
        return "REQUEUED";
    }
    return base < kWords.size() ? kWords[base] : "UNKNOWN";
}

std::string text_of(const char* text) {
    return text != nullptr ? text : "";
}

SlurmJob describe(const slurm_job_info_t& job) {
    return {.state = state_of_job(job.job_state),
            .restart_count = job.restart_cnt,
            .word = std::string{word_of(job.job_state)},
            .node_list = job.nodes == nullptr ? "" : job.nodes,
            .is_in_prolog = job.state_reason == WAIT_PROLOG,
            .array_job_id = job.array_job_id,
            .array_task_id = job.array_job_id == 0 ? 0 : job.array_task_id,
            .uid = job.user_id,
            .gid = job.group_id};
}

SlurmJob absent_job() {
    return {.state = SlurmJobState::absent, .restart_count = 0, .word = "UNKNOWN"};
}

struct LoadedJob {
    std::unique_ptr<job_info_msg_t, JobsFree> jobs;
    const slurm_job_info_t* job = nullptr;  ///< Part of `jobs`; none if Slurm knows no job.
};

Result<LoadedJob> load_job(std::uint32_t job_id) {
    job_info_msg_t* jobs = nullptr;
    const int done = ::slurm_load_job(&jobs, whole_job(job_id), SHOW_ALL | SHOW_LOCAL);
    const int cause = errno;
    LoadedJob loaded;
    loaded.jobs.reset(jobs);
    if (done != SLURM_SUCCESS && cause != ESLURM_INVALID_JOB_ID) {
        errno = cause;
        return no_slurm_answer("the job's state");
    }
    // The id of an array returns all its tasks.
    for (std::uint32_t i = 0; done == SLURM_SUCCESS && i < jobs->record_count; ++i) {
        if (job_of(jobs->job_array[i]) == job_id) {
            loaded.job = &jobs->job_array[i];
        }
    }
    return loaded;
}

Result<SlurmAnswer> job_state(std::uint32_t job_id) {
    TRY(const LoadedJob loaded, load_job(job_id));
    return SlurmAnswer{loaded.job != nullptr ? describe(*loaded.job) : absent_job()};
}

/// Uses one call if this release of Slurm has it.
Result<SlurmAnswer> job_states(const std::vector<std::uint32_t>& job_ids) {
    std::vector<SlurmJob> jobs(job_ids.size(), absent_job());
    if constexpr (kHasJobStates) {
        std::map<std::uint32_t, std::uint32_t> states;
        const int done = each_job_state(
            job_ids,
            [&](std::uint32_t job_id, std::uint32_t state) { states[job_id] = state; });
        if (done != SLURM_SUCCESS && errno != ESLURM_INVALID_JOB_ID) {
            return no_slurm_answer("the jobs' states");
        }
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (const auto found = states.find(job_ids[i]); found != states.end()) {
                jobs[i].state = state_of_job(found->second);
                jobs[i].word = word_of(found->second);
            }
        }
        return SlurmAnswer{std::move(jobs)};
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        TRY(const auto one, job_state(job_ids[i]));
        const auto& job = std::get<SlurmJob>(one);
        jobs[i].state = job.state;
        jobs[i].word = job.word;
    }
    return SlurmAnswer{std::move(jobs)};
}

std::string comment_of(const slurm_job_info_t* job) {
    return job != nullptr ? text_of(job->admin_comment) : "";
}

/// Slurm replaces the whole AdminComment, of which others wrote `present`. An empty reason
/// leaves it as it is. `excluded`: the whole list of nodes that a pending job is kept off;
/// null: as it is.
bool change(std::uint32_t job_id,
            std::string_view present,
            std::string_view reason,
            std::string* excluded = nullptr) {
    std::string comment = with_reason(present, reason);
    job_desc_msg_t change{};
    ::slurm_init_job_desc_msg(&change);
    name_job(change, job_id);
    change.admin_comment = reason.empty() ? nullptr : comment.data();
    change.exc_nodes = excluded != nullptr ? excluded->data() : nullptr;
    return ::slurm_update_job(&change) == SLURM_SUCCESS;
}

/// `job`: as it was while it had its nodes.
bool can_do_without(const slurm_job_info_t& job, const std::vector<std::string>& faulty) {
    const auto names_in = [](const char* list) {
        auto names =
            text_of(list).empty() ? Result<std::vector<std::string>>{{}} : expand_nodes(list);
        return names ? *std::move(names) : std::vector<std::string>{};
    };
    const JobFacts facts{.partitions = items_of(job.partition),
                         .nodes = names_in(job.nodes),
                         .excluded = names_in(job.exc_nodes),
                         .names_nodes = !text_of(job.req_nodes).empty(),
                         .has_reservation = !text_of(job.resv_name).empty()};
    if (faulty.empty() || facts.names_nodes || facts.has_reservation) {
        return false;
    }
    const auto nodes = load_node_facts();
    return nodes && have_stand_ins(*nodes, facts, faulty);
}

/// A node that learns late of a stage's end must not touch a later restart under the same job
/// id: unless slurmctld confirms the restart count, it is taken for another one.
bool is_in_life(const slurm_job_info_t* job, std::uint32_t restart, bool in_prolog = false) {
    if (job == nullptr) {
        return false;
    }
    const SlurmJob known = describe(*job);
    return known.state == SlurmJobState::alive && known.restart_count == restart &&
           (!in_prolog || known.is_in_prolog);
}

/// JOB_RUNNING as a flag makes slurmctld leave a job alone that no longer runs.
Result<SlurmAnswer> on_failure(const FailureOrder& order) {
    const Result<LoadedJob> loaded = load_job(order.job_id);
    const slurm_job_info_t* job = loaded ? loaded->job : nullptr;
    SlurmJob answer{.state = SlurmJobState::alive, .restart_count = 0, .word = {}};
    if (order.requeue && !is_in_life(job, order.restart)) {
        answer.word = "the job is no longer running";
        return SlurmAnswer{std::move(answer)};
    }
    if (order.requeue && requeue_job(order.job_id, JOB_RUNNING) != SLURM_SUCCESS) {
        answer.word = ::slurm_strerror(errno);
    } else if (order.requeue) {
        answer.state = SlurmJobState::ended;
        answer.word = "REQUEUED";
        const std::string present = comment_of(job);
        const std::string names = joined(order.faulty, ",");
        std::string list = text_of(job->exc_nodes);
        list += (list.empty() ? "" : ",") + names;
        const auto reason = [&order](const std::string& what) {
            return order.sentence.empty() ? "" : order.sentence + " (" + what + ')';
        };
        if (!can_do_without(*job, order.faulty) ||
            !change(order.job_id, present, reason("requeued without " + names), &list)) {
            static_cast<void>(change(order.job_id, present, reason("requeued")));
        }
        return SlurmAnswer{std::move(answer)};
    }
    if (!loaded || !change(order.job_id, comment_of(job), order.sentence)) {
        return no_slurm_answer("a reply to the change of the job's AdminComment");
    }
    return SlurmAnswer{std::move(answer)};
}

/// What can't be reported is no reason to stop.
Result<SlurmAnswer> on_progress(ProgressOrder order) {
    TRY(const LoadedJob loaded, load_job(order.job_id));
    if (loaded.job == nullptr) {
        return SlurmAnswer{absent_job()};
    }
    const SlurmJob known = describe(*loaded.job);
    const bool is_suspended = known.state == SlurmJobState::suspended;
    const bool is_alive = known.restart_count == order.restart &&
                          (is_suspended || known.state == SlurmJobState::alive);
    const bool is_batch = loaded.job->batch_flag != 0;
    if (is_alive && is_batch && order.comments) {
        static_cast<void>(change(order.job_id, comment_of(loaded.job), order.sentence));
    } else if (is_alive && !is_batch && !order.is_last) {
        static_cast<void>(::slurm_notify_job(whole_job(order.job_id), order.sentence.data()));
    }
    return SlurmAnswer{known};
}

/// Publishes the reason, then cancels. Only the cancelling must succeed.
Result<SlurmAnswer> cancel(CancelOrder order) {
    const Result<LoadedJob> loaded = load_job(order.job_id);
    const slurm_job_info_t* job = loaded ? loaded->job : nullptr;
    if (!order.step_id && !is_in_life(job, order.restart, order.only_in_prolog)) {
        return SlurmAnswer{SlurmJob{.state = SlurmJobState::alive,
                                    .restart_count = 0,
                                    .word = "the job has been restarted"}};
    }
    static_cast<void>(::slurm_notify_job(whole_job(order.job_id), order.sentence.data()));
    if (loaded && order.comments) {
        static_cast<void>(change(order.job_id, comment_of(job), order.sentence));
    }
    const int done = order.step_id ? kill_step(order.job_id, *order.step_id)
                                   : ::slurm_kill_job(whole_job(order.job_id), SIGKILL, 0);
    if (done != SLURM_SUCCESS && errno != ESLURM_ALREADY_DONE) {
        return Error{Blame::node,
                     "cannot cancel the job (" + std::string{::slurm_strerror(errno)} + ")"};
    }
    return SlurmAnswer{
        SlurmJob{.state = SlurmJobState::ended, .restart_count = 0, .word = "CANCELLED"}};
}

/// libslurm waits a minute for a file that SLURM_CONF names and that is not there.
Status check_configuration() {
    const char* path = std::getenv("SLURM_CONF");  // NOLINT(concurrency-mt-unsafe)
    if (path != nullptr && ::access(path, R_OK) != 0) {
        return Error::from_errno(Blame::node, "Slurm's configuration " + std::string{path});
    }
    return {};
}

Result<SlurmAnswer> ask_slurm(const SlurmQuestion& question) {
    TRY(check_configuration());
    ::slurm_init(nullptr);
    if (const auto* ask = std::get_if<ExpandQuestion>(&question)) {
        TRY(const auto names, expand_nodes(ask->node_list));
        std::vector<SlurmNode> nodes;
        for (const std::string& name : names) {
            nodes.push_back({.name = name, .address = {}});
        }
        return SlurmAnswer{std::move(nodes)};
    }
    if (const auto* ask = std::get_if<ResolveQuestion>(&question)) {
        return resolve_nodes(*ask);
    }
    if (const auto* order = std::get_if<CancelOrder>(&question)) {
        return cancel(*order);
    }
    if (std::holds_alternative<LeaseServersQuestion>(question)) {
        return find_lease_servers();
    }
    if (const auto* ask = std::get_if<JobsQuestion>(&question)) {
        return job_states(ask->job_ids);
    }
    if (const auto* order = std::get_if<FailureOrder>(&question)) {
        return on_failure(*order);
    }
    if (const auto* order = std::get_if<ProgressOrder>(&question)) {
        return on_progress(*order);
    }
    return job_state(std::get<JobStateQuestion>(question).job_id);
}

bool send_all(int fd, Bytes bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        bytes = bytes.subspan(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }
    return true;
}

bool tell(int fd, const Result<SlurmAnswer>& answer) {
    ByteWriter out;
    out.blob(encode_slurm_answer(answer));
    return send_all(fd, out.view());
}

Result<SlurmQuestion> read_question(int fd) {
    std::vector<std::byte> bytes(kLengthBytes);
    for (std::size_t have = 0; have < bytes.size();) {
        const ssize_t got = ::recv(fd, &bytes[have], bytes.size() - have, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return Error{Blame::internal, "the question was not received"};
        }
        have += static_cast<std::size_t>(got);
        if (have == kLengthBytes && bytes.size() == kLengthBytes) {
            const std::size_t length = ByteReader{bytes}.u32();
            bytes.resize(kLengthBytes + std::min(length, kQuestionMax));
        }
    }
    return decode_question(Bytes{bytes}.subspan(kLengthBytes));
}

/// What the child needs if libslurm ends it: the socket for the answer, and libslurm's error
/// output.
struct LastWords {
    int answer_fd;
    int complaints_fd;
};

/// The last line of libslurm's errors, without "error: " or "fatal: ".
std::string last_complaint(int fd) {
    std::array<char, kSentenceMax> buffer{};
    const off_t size = ::lseek(fd, 0, SEEK_END);
    const off_t from =
        size > static_cast<off_t>(buffer.size()) ? size - static_cast<off_t>(buffer.size()) : 0;
    const ssize_t got = size > 0 ? ::pread(fd, buffer.data(), buffer.size(), from) : 0;
    std::string text(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    text.erase(text.find_last_not_of(" \n") + 1);
    text.erase(0, text.rfind('\n') + 1);
    for (const std::string_view word : {"fatal: ", "error: "}) {
        const std::size_t at = text.find(word);
        text.erase(0, at == std::string::npos ? 0 : at + word.size());
    }
    return text;
}

/// libslurm's fatal() calls exit(), which calls this handler.
void on_fatal(int status, void* argument) {
    static_cast<void>(status);
    const auto* words = static_cast<const LastWords*>(argument);
    const std::string complaint = last_complaint(words->complaints_fd);
    static_cast<void>(tell(
        words->answer_fd,
        Error{Blame::node,
              "Slurm's library gave up (" +
                  (complaint.empty() ? std::string{"no reason given"} : complaint) + ")"}));
}

}  // namespace

SlurmJobState state_of_job(std::uint32_t slurm_state) {
    constexpr std::uint32_t kLeaving =
        JOB_REQUEUE | JOB_REQUEUE_HOLD | JOB_SPECIAL_EXIT | JOB_REVOKED;
    const std::uint32_t base = slurm_state & JOB_STATE_BASE;
    if ((slurm_state & JOB_COMPLETING) != 0) {
        return SlurmJobState::completing;
    }
    if ((base != JOB_RUNNING && base != JOB_SUSPENDED) || (slurm_state & kLeaving) != 0) {
        return SlurmJobState::ended;
    }
    const bool stopped = base == JOB_SUSPENDED || (slurm_state & JOB_STOPPED) != 0;
    return stopped ? SlurmJobState::suspended : SlurmJobState::alive;
}

int run_slurm_query(int fd) {
    // A limit that holds even inside a call that never returns.
    ::alarm(static_cast<unsigned>(
        std::chrono::duration_cast<std::chrono::seconds>(kSlurmAnswerMax).count()));
    const auto question = read_question(fd);
    if (!question) {
        return 1;
    }
    LastWords words{.answer_fd = fd,
                    .complaints_fd = ::memfd_create("complaints", MFD_CLOEXEC)};
    if (words.complaints_fd >= 0) {
        ::dup2(words.complaints_fd, STDERR_FILENO);
    }
    ::on_exit(on_fatal, &words);
    return tell(fd, ask_slurm(*question)) ? 0 : 1;
}

Result<SlurmQuery> SlurmQuery::start(Spawner& spawner,
                                     std::uint32_t role,
                                     const SlurmQuestion& question,
                                     Instant now) {
    TRY(auto child, spawner.start_role(role, SOCK_STREAM));
    ByteWriter message;
    message.blob(encode_question(question));
    // A node list fits an empty socket's buffer; Slurm makes none that does not.
    const ssize_t sent =
        ::send(child.socket.get(), message.view().data(), message.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(message.size())) {
        return Error{Blame::internal, "the list of nodes is too long"};
    }
    return SlurmQuery{std::move(child.socket), now + kSlurmAnswerMax + std::chrono::seconds{1}};
}

void SlurmQuery::on_readable() {
    std::array<std::byte, 65'536> chunk{};
    while (!answer_) {
        const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got <= 0 || received_.size() > kAnswerMax) {
            answer_ = Error{Blame::node, "Slurm does not answer; is slurmctld reachable?"};
            return;
        }
        received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
        ByteReader reader{received_};
        const Bytes whole = reader.blob(kAnswerMax);
        if (reader.ok()) {
            answer_ = decode_slurm_answer(whole);
        }
    }
}

void SlurmQuery::on_time(Instant now) {
    if (!answer_ && now >= deadline_) {
        answer_ = Error{Blame::node, "Slurm does not answer; is slurmctld reachable?"};
    }
}

}  // namespace stage
