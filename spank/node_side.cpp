#include "spank/node_side.h"

#include "spank/names.h"
#include "spank/publish.h"
#include "spank/sentence.h"

#include <algorithm>

namespace stage {
namespace {

/// The daemon's socket is on this node: what it does not take within this, it does not take.
constexpr Duration kConnectPatience = std::chrono::seconds{5};
/// The daemon decides within StageTimeout; it gets this much more to say so.
constexpr Duration kGrace = std::chrono::seconds{3};
/// And the prolog's child this much more to notice, before it is killed.
constexpr Duration kKillGrace = std::chrono::seconds{5};
/// A daemon that lives answers what needs no deliberation within this: a PING, an END, and a
/// QUERY, since no step begins before the prolog has returned, so with the verdict or without
/// one.
constexpr Duration kAnswerPatience = std::chrono::seconds{5};
constexpr Patience kBrief{.connect = kConnectPatience, .answer = kAnswerPatience};
/// A restart of the daemon takes less; systemd's after a crash, RestartSec more.
constexpr Duration kRestart = std::chrono::seconds{5};
constexpr Patience kThroughRestart{
    .connect = kConnectPatience, .answer = kAnswerPatience, .absent = kRestart};

/// Slurm 22.05 numbers the pseudo jobs of `srun -Z` from here (NOALLOC job ids). They have a
/// prolog but no epilog (measured), so nobody would clean up.
constexpr std::uint32_t kFirstPseudoJob = 0xffff0000U;
/// The batch step, and the largest step id that is srun's own.
constexpr std::uint32_t kBatchStep = 0xfffffffbU;
constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0U;

std::string node_name(const SpankHandle& handle) {
    auto name = handle.variable("SLURMD_NODENAME");
    if (!name) {
        name = handle.job_variable("SLURMD_NODENAME");
    }
    return name.value_or("");
}

std::string at_node(const SpankHandle& handle) {
    const std::string name = node_name(handle);
    return name.empty() ? "this node" : "node " + printable(name);
}

Patience patience_of(const Site& site) {
    return {
        .connect = kConnectPatience, .answer = site.stage_timeout + kGrace, .absent = kRestart};
}

std::uint32_t number_of(const std::optional<std::string>& text) {
    std::uint32_t number = 0;
    for (const char c : text.value_or("")) {
        if (c < '0' || c > '9' || number > 100'000'000) {
            return 0;
        }
        number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return number;
}

/// In slurmstepd of 22.05.8 S_SLURM_RESTART_COUNT is 0 for a requeued job, whose prolog was
/// told 1 (measured); the job's environment has the right one.
std::uint32_t restart_of(const SpankHandle& handle) {
    return std::max(handle.item(Item::restart).value_or(0),
                    number_of(handle.job_variable("SLURM_RESTART_COUNT")));
}

/// A field that does not fit its message is left out: the daemon, which must refuse the stage
/// and remember why, then finds it empty.
StageRequest bounded(StageRequest request) {
    const auto bound = [](std::string& text, std::size_t limit) {
        if (text.size() > limit) {
            text.clear();
        }
    };
    bound(request.node_name, kMaxNameBytes);
    bound(request.node_list, kMaxNodeListBytes);
    bound(request.work_dir, kMaxPathBytes);
    bound(request.specs, kMaxSpecsBytes);
    if (!request.work_dir.starts_with('/')) {
        request.work_dir.clear();
    }
    return request;
}

bool is_unknown(const Answer& answer) {
    const auto* const verdict = std::get_if<Verdict>(&answer);
    return verdict != nullptr && verdict->state == VerdictState::unknown;
}

/// The sentence of an answer that lets no task start, or nothing.
std::optional<std::string> objection(const Answer& answer) {
    if (const auto* const refused = std::get_if<Refused>(&answer)) {
        return "stagecastd refuses: " + refused->sentence;
    }
    const auto* const verdict = std::get_if<Verdict>(&answer);
    if (verdict == nullptr) {
        return "stagecastd gave an answer to another question";
    }
    switch (verdict->state) {
        case VerdictState::ok:
        case VerdictState::partial:
            return std::nullopt;
        case VerdictState::failed:
            return verdict->sentence.empty() ? "staging failed" : verdict->sentence;
        case VerdictState::unknown:
            return "stagecastd knows nothing of this job's files; was it stopped, or could the "
                   "plugin not run in the prolog? See slurmd's and stagecastd's logs";
        case VerdictState::busy:
            break;
    }
    return "staging has not ended within StageTimeout";
}

/// The steps of all components of a heterogeneous job share one environment (measured), that of
/// the client or batch script they come from: whether a step's own component was given files,
/// only the daemon knows. The batch step has its component's own.
bool is_mixed(const SpankHandle& handle) {
    return handle.job_variable("SLURM_HET_SIZE") &&
           handle.item(Item::step_id).value_or(0) != kBatchStep;
}

}  // namespace

bool PrologSide::is_concerned(const SpankHandle& handle) {
    const auto specs = handle.variable(kPrologSpecs);
    return specs && *specs != kNothing;
}

Duration PrologSide::announce_limit() const {
    return kConnectPatience + read_site(arguments_.conf_path).stage_timeout + kGrace +
           kKillGrace;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): both limits are members alike
Duration PrologSide::conclude_limit() const {
    return kConnectPatience + kAnswerPatience + kKillGrace;
}

Status PrologSide::announce(const SpankHandle& handle) const {
    const auto job = handle.item(Item::job_id);
    const auto uid = handle.item(Item::uid);
    const auto gid = handle.item(Item::gid);
    if (!job || !uid || !gid) {
        return Error{Blame::internal, "Slurm does not tell the prolog whose job it is"};
    }
    const Site site = read_site(arguments_.conf_path);
    if (*job >= kFirstPseudoJob || site.is_script_first) {
        return {};  // The site's own script says `stagecast prolog` when it is ready.
    }
    // A daemon that is stopped takes a STAGE and keeps the prolog until StageTimeout; a PING
    // tells.
    if (const auto alive = ask_(PingRequest{}, kThroughRestart); !alive) {
        return alive.error().within("job " + std::to_string(*job));
    }
    StageRequest request;
    request.key = {.job_id = *job,
                   .step_id = kWholeJob,
                   .restart = number_of(handle.variable("SLURM_JOB_RESTART_COUNT"))};
    request.uid = *uid;
    request.gid = *gid;
    request.node_name = node_name(handle);
    request.node_list = handle.variable("SLURM_NODELIST").value_or("");
    request.work_dir = handle.variable("SLURM_JOB_WORK_DIR").value_or("");
    request.specs = handle.variable(kPrologSpecs).value_or("");
    const auto answer = ask_(bounded(std::move(request)), patience_of(site));
    if (!answer) {
        return answer.error().within("job " + std::to_string(*job));
    }
    if (const auto reason = objection(*answer)) {
        return Error{Blame::node, one_line(*reason)}.within("job " + std::to_string(*job));
    }
    return {};
}

Status PrologSide::conclude(const SpankHandle& handle) const {
    const auto job = handle.item(Item::job_id);
    if (!job || *job >= kFirstPseudoJob) {
        return {};
    }
    const EndRequest request{.job_id = *job, .step_id = kWholeJob};
    const auto answer = ask_(request, kBrief);
    return answer ? Status{} : Status{answer.error().within("job " + std::to_string(*job))};
}

void StepSide::fail(SpankHandle& handle, std::string sentence, bool is_local) {
    if (!failure_) {
        failure_ = Failure{.sentence = std::move(sentence), .is_local = is_local};
        handle.set_job_variable(kJobStatus, "failed");
    }
}

void StepSide::on_breakdown() {
    if ((is_concerned_ || option_seen_) && !failure_) {
        failure_ = Failure{.sentence = "stagecast broke on this node, see slurmd's log",
                           .is_local = true};
    }
}

void StepSide::judge(SpankHandle& handle, const Result<Answer>& answer, bool may_be_unknown) {
    if (!answer) {
        fail(handle, at_node(handle) + ": " + answer.error().sentence(), true);
        return;
    }
    if (may_be_unknown && is_unknown(*answer)) {
        // What the environment says is another component's.
        for (const char* const name : {kStageDir, kStageFiles, kJobStatus}) {
            handle.unset_job_variable(name);
        }
        return;
    }
    if (auto reason = objection(*answer)) {
        const auto* const verdict = std::get_if<Verdict>(&*answer);
        const bool is_groups = verdict != nullptr && verdict->state == VerdictState::failed;
        fail(handle,
             is_groups ? *std::move(reason) : at_node(handle) + ": " + *std::move(reason),
             !is_groups);
    }
}

bool StepSide::concerns_job(const SpankHandle& handle, bool has_step_specs) const {
    const auto sign = handle.job_variable(kJobSign);
    if (!is_mixed(handle)) {
        return sign ? *sign != kNothing : option_seen_ && !has_step_specs;
    }
    const auto first = handle.job_variable("SLURM_JOB_ID_HET_GROUP_0");
    const bool is_later_component = first && number_of(first) != handle.item(Item::job_id);
    return sign || option_seen_ || is_later_component;
}

void StepSide::ask_for_job(SpankHandle& handle) {
    const auto job = handle.item(Item::job_id);
    if (!job) {
        fail(handle, "Slurm does not tell which job this is", true);
        return;
    }
    if (*job >= kFirstPseudoJob) {
        fail(handle,
             "srun -Z makes no job to stage files for; leave out -Z or --stage-file",
             false);
        return;
    }
    const bool may_be_unknown = is_mixed(handle);
    const bool says_nothing = may_be_unknown && !handle.job_variable(kJobSign) && !option_seen_;
    const auto answer = ask_(QueryRequest{{.job_id = *job, .restart = kLatestLife}},
                             says_nothing ? kBrief : kThroughRestart);
    if (!answer && says_nothing) {
        return;  // nothing speaks of files, and there is no daemon to know better
    }
    judge(handle, answer, may_be_unknown);
    if (answer && std::holds_alternative<Verdict>(*answer) && !is_unknown(*answer)) {
        job_ = std::get<Verdict>(*answer);
    }
}

void StepSide::stage_for_step(SpankHandle& handle, const std::string& specs) {
    const auto job = handle.item(Item::job_id);
    const auto step = handle.item(Item::step_id);
    const auto uid = handle.item(Item::uid);
    const auto gid = handle.item(Item::gid);
    if (!job || !step || !uid || !gid || *step >= kFirstSpecialStep) {
        fail(handle, "Slurm does not tell which step this is", true);
        return;
    }
    // A step over several components runs as one step of each job: the node list is all of
    // them.
    const auto nodes = handle.item(Item::node_count);
    if (handle.job_variable("SLURM_HET_SIZE") &&
        nodes != number_of(handle.job_variable("SLURM_STEP_NUM_NODES"))) {
        fail(handle,
             "a step over several components of a heterogeneous job cannot stage files of its "
             "own; give --stage-file to the job, or to a step of one component",
             false);
        return;
    }
    StageRequest request;
    request.key = {.job_id = *job, .step_id = *step, .restart = restart_of(handle)};
    request.uid = *uid;
    request.gid = *gid;
    request.node_name = node_name(handle);
    request.node_list = handle.job_variable("SLURM_STEP_NODELIST").value_or("");
    request.work_dir = handle.job_variable("SLURM_JOB_WORK_DIR").value_or("");
    request.specs = specs;
    has_staged_ = true;
    const auto answer =
        ask_(bounded(std::move(request)), patience_of(read_site(arguments_.conf_path)));
    judge(handle, answer, false);
    if (answer && std::holds_alternative<Verdict>(*answer)) {
        step_ = std::get<Verdict>(*answer);
    }
}

void StepSide::on_step_begins(SpankHandle& handle) {
    const auto step_specs = handle.job_variable(kStepSpecs);
    const bool job_concerned = concerns_job(handle, step_specs.has_value());
    is_concerned_ = job_concerned || step_specs;
    if (!is_concerned_) {
        return;
    }
    if (job_concerned) {
        ask_for_job(handle);
    }
    if (step_specs) {
        handle.unset_job_variable(kStepSpecs);  // a step of this step has its own, or none
        if (!failure_) {
            stage_for_step(handle, *step_specs);
        }
    }
    publish(handle, job_, step_, failure_.has_value());
    for (const auto* const verdict : {&job_, &step_}) {
        if (!failure_ && *verdict) {
            visibility_.remember(**verdict);
        }
    }
}

void StepSide::look_around() {
    hidden_ = visibility_.objection();
}

bool StepSide::may_start(SpankHandle& handle) const {
    if (!failure_ && !hidden_) {
        return true;
    }
    const bool first_task = handle.item(Item::task).value_or(0) == 0;
    const bool first_node = handle.item(Item::node_id).value_or(0) == 0;
    if (first_task && (first_node || (failure_ && failure_->is_local))) {
        handle.say_error(
            signed_sentence(failure_ ? failure_->sentence : at_node(handle) + ": " + *hidden_));
    }
    return false;
}

void StepSide::tell(SpankHandle& handle) const {
    const bool is_first =
        handle.item(Item::task).value_or(0) == 0 && handle.item(Item::node_id).value_or(0) == 0;
    // Of the job's files the batch script hears, or the first task of an srun that made the
    // job.
    const bool is_jobs = handle.item(Item::step_id).value_or(0) == kBatchStep ||
                         handle.job_variable(kJobSign) == kSomething;
    for (const auto* const verdict : {&job_, &step_}) {
        const bool is_due = verdict == &step_ || is_jobs;
        if (is_first && is_due && *verdict && !(*verdict)->sentence.empty()) {
            handle.say_in_task(signed_sentence((*verdict)->sentence));
        }
    }
}

void StepSide::on_step_ends(SpankHandle& handle) const {
    const auto job = handle.item(Item::job_id);
    const auto step = handle.item(Item::step_id);
    if (!has_staged_ || !job || !step) {
        return;
    }
    const EndRequest request{.job_id = *job, .step_id = *step};
    const auto answer = ask_(request, kThroughRestart);
    if (!answer) {
        handle.say_error(signed_sentence(answer.error().sentence()));
    }
}

}  // namespace stage
