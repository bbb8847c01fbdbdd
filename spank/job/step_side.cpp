#include "spank/job/step_side.h"

#include "spank/host/daemon_talk.h"
#include "spank/host/names.h"
#include "spank/host/sentence.h"
#include "spank/job/publish.h"
#include "stager/spec/spec_list.h"
#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// The batch step, and the largest step id that is srun's own.
constexpr std::uint32_t kBatchStep = 0xfffffffbU;
constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0U;

std::string at_node(const SpankHandle& handle) {
    const std::string name = node_name(handle);
    return name.empty() ? "this node" : "node " + printable(name);
}

/// In slurmstepd of 22.05.8 S_SLURM_RESTART_COUNT is 0 for a requeued job, whose prolog
/// received 1 (measured); the job's environment has the right one.
std::uint32_t restart_of(const SpankHandle& handle) {
    return std::max(handle.item(Item::restart).value_or(0),
                    number_of(handle.job_variable("SLURM_RESTART_COUNT")));
}

/// A request without nodes and specs; nothing if Slurm did not give the plugin an id.
std::optional<StageRequest> request_from(const SpankHandle& handle,
                                         std::optional<std::uint32_t> step) {
    const auto job = handle.item(Item::job_id);
    const auto uid = handle.item(Item::uid);
    const auto gid = handle.item(Item::gid);
    if (!job || !step || !uid || !gid) {
        return std::nullopt;
    }
    return StageRequest{
        .key = {.job_id = *job, .step_id = *step, .restart = restart_of(handle)},
        .uid = *uid,
        .gid = *gid,
        .node_name = node_name(handle)};
}

/// True if the client knew only the number of the step's job.
bool is_from_outside(const SpankHandle& handle) {
    return handle.job_variable(kJobSign) == kAsk;
}

/// The steps of all components of a heterogeneous job share one environment (measured), that of
/// the client or batch script that starts them: only the daemon knows whether a step's own
/// component has files. The batch step has its component's environment.
bool is_mixed(const SpankHandle& handle) {
    return handle.job_variable("SLURM_HET_SIZE") &&
           handle.item(Item::step_id).value_or(0) != kBatchStep;
}

}  // namespace

void StepSide::fail(SpankHandle& handle, Failed failed) {
    if (!failure_) {
        failure_ = std::move(failed);
        handle.set_job_variable(kJobStatus, "failed");
    }
}

void StepSide::on_breakdown() {
    if ((is_concerned_ || option_seen_) && !failure_) {
        failure_ = Failed{.sentence = "stagecast broke on this node, see slurmd's log",
                          .blame = Blame::internal,
                          .is_local = true};
    }
}

void StepSide::judge(SpankHandle& handle, const Result<Answer>& answer, bool may_be_unknown) {
    if (!answer) {
        fail(handle,
             {.sentence = at_node(handle) + ": " + answer.error().sentence(),
              .blame = answer.error().blame(),
              .is_local = true});
        return;
    }
    if (may_be_unknown && is_unknown(*answer)) {
        // The environment describes another component.
        for (const char* const name : {kStageDir, kStageFiles, kJobStatus, kDroppedNodes}) {
            handle.unset_job_variable(name);
        }
        return;
    }
    const bool is_script_first =
        is_unknown(*answer) && read_site(arguments_.conf_path).is_script_first;
    if (auto reason = objection(*answer, is_script_first)) {
        const auto* const verdict = std::get_if<Verdict>(&*answer);
        const bool is_named = verdict != nullptr && is_failure(verdict->state);
        fail(handle,
             {.sentence =
                  is_named ? *std::move(reason) : at_node(handle) + ": " + *std::move(reason),
              .blame = blame_of(*answer),
              .is_local = !is_named || verdict->state == VerdictState::dropped});
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
        fail(handle,
             {.sentence = "Slurm did not give the plugin the job's id",
              .blame = Blame::internal,
              .is_local = true});
        return;
    }
    if (*job >= kFirstPseudoJob) {
        fail(handle,
             {.sentence =
                  "srun -Z makes no job to stage files for; leave out -Z or --stage-file",
              .blame = Blame::user,
              .is_local = false});
        return;
    }
    const bool is_outside = is_from_outside(handle);
    const bool may_be_unknown = is_outside || is_mixed(handle);
    const bool says_nothing =
        may_be_unknown && (is_outside || !handle.job_variable(kJobSign)) && !option_seen_;
    auto answer = ask_(QueryRequest{{.job_id = *job, .restart = kLatestLife}},
                       says_nothing ? kShortTimeout : kRetryDuringRestart);
    if (!answer && says_nothing) {
        return;  // no sign of files, and no daemon to ask
    }
    if (answer && is_unknown(*answer) && !may_be_unknown) {
        answer = stage_for_job(handle, std::move(answer));
    }
    judge(handle, answer, may_be_unknown);
    if (answer && std::holds_alternative<Verdict>(*answer) && !is_unknown(*answer)) {
        job_ = std::get<Verdict>(*answer);
    }
}

/// Stages the job's files from its first step, where no prolog ran: slurmd of 22.05 omits it
/// while it remembers an earlier run of the job. The job's environment has the specs that the
/// prolog would have had; returns `known` where it does not.
Result<Answer> StepSide::stage_for_job(const SpankHandle& handle, Result<Answer> known) const {
    const auto sign = handle.job_variable(kJobSign);
    auto request = request_from(handle, kWholeJob);
    const Site site = read_site(arguments_.conf_path);
    if (!sign || *sign == kNothing || *sign == kSomething || !request || site.is_script_first) {
        return known;
    }
    request->node_list = handle.job_variable("SLURM_JOB_NODELIST").value_or("");
    // (Slurm sets SLURM_JOB_WORK_DIR in prologs only.)
    request->work_dir = handle.job_variable("PWD").value_or("");
    request->specs = *sign;
    request->is_late = true;
    return ask_(bounded(*std::move(request)), timeouts_of(site));
}

void StepSide::stage_for_step(SpankHandle& handle, const std::string& specs) {
    invariant(!has_staged_ && !awaited_ && !step_, "a step stages its own files once");
    auto request = request_from(handle, handle.item(Item::step_id));
    if (!request || request->key.step_id >= kFirstSpecialStep) {
        fail(handle,
             {.sentence = "Slurm did not give the plugin the step's id",
              .blame = Blame::internal,
              .is_local = true});
        return;
    }
    // A step over several components runs as one step of each job: the node list is all of
    // them.
    const auto nodes = handle.item(Item::node_count);
    if (handle.job_variable("SLURM_HET_SIZE") &&
        nodes != number_of(handle.job_variable("SLURM_STEP_NUM_NODES"))) {
        fail(handle,
             {.sentence = "a step over several components of a heterogeneous job cannot stage "
                          "files of its own; give --stage-file to the job, or to a step of one "
                          "component",
              .blame = Blame::user,
              .is_local = false});
        return;
    }
    request->node_list = handle.job_variable("SLURM_STEP_NODELIST").value_or("");
    request->work_dir = options_in(specs).work_dir;  // Slurm gives none in a step.
    request->specs = specs;
    has_staged_ = true;
    auto begun =
        begin_(bounded(*std::move(request)), timeouts_of(read_site(arguments_.conf_path)));
    if (!begun) {
        judge(handle, begun.error(), false);
        return;
    }
    awaited_ = *std::move(begun);
    if (options_in(specs).has_container) {
        await_files(handle);
    }
}

void StepSide::await_files(SpankHandle& handle) {
    if (!awaits_files()) {
        return;
    }
    invariant(has_staged_ && !step_, "only what was begun is awaited, and once");
    const auto answer = std::exchange(awaited_, {})();
    judge(handle, answer, false);
    if (answer && std::holds_alternative<Verdict>(*answer)) {
        step_ = std::get<Verdict>(*answer);
    }
    publish(handle, job_, step_, failure_.has_value());
    if (!failure_ && step_) {
        visibility_.remember(*step_);
    }
    if (!hidden_) {
        hidden_ = visibility_.objection();
    }
}

void StepSide::on_step_begins(SpankHandle& handle) {
    const auto step_specs = handle.job_variable(kStepSpecs);
    const bool job_concerned = concerns_job(handle, step_specs.has_value());
    is_concerned_ = job_concerned || step_specs;
    if (is_concerned_ || handle.job_variable(kJobSign)) {
        handle.set_job_variable(kPluginNode, node_name(handle));
    }
    if (!is_concerned_) {
        return;
    }
    if (job_concerned) {
        ask_for_job(handle);
        publish(handle, job_, step_, failure_.has_value());
    }
    if (job_ || step_specs) {
        visibility_.capture_outside(root_of_listener(arguments_.socket_path));
    }
    if (!failure_ && job_) {
        visibility_.remember(*job_);
    }
    if (step_specs) {
        handle.unset_job_variable(kStepSpecs);  // not inherited by a step of this step
        if (!failure_) {
            stage_for_step(handle, *step_specs);
        }
    }
}

void StepSide::look_around() {
    if (!is_concerned_) {
        return;
    }
    if (visibility_.capture_inside()) {
        hidden_ = visibility_.objection();
    }
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

int StepSide::exit_status() const {
    // Files that are hidden at their destinations are the user's error.
    const bool is_users = failure_ ? failure_->blame == Blame::user : hidden_.has_value();
    return is_users ? kExitUser : kExitTemporary;
}

void StepSide::tell(SpankHandle& handle) const {
    const bool is_first =
        handle.item(Item::task).value_or(0) == 0 && handle.item(Item::node_id).value_or(0) == 0;
    // The job's files are reported to the batch script, or to the first task of an srun that
    // made the job.
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
    const auto answer = ask_(request, kRetryDuringRestart);
    if (!answer) {
        handle.say_error(signed_sentence(answer.error().sentence()));
    }
}

}  // namespace stage
