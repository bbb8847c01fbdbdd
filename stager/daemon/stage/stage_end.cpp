// What is done once the group's verdict is known here? The part of Stage that remembers it and
// tells.
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/job_roots.h"
#include "stager/daemon/jobs/library_directories.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/stage/stage.h"
#include "transport/base/log.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace stage {

namespace {

/// Of a worker's line, whoever wrote it; 0 if that does not say.
std::size_t files_in(const std::string& statistics) {
    const auto line = nlohmann::json::parse(statistics, nullptr, /*allow_exceptions=*/false);
    const auto found = line.is_object() ? line.find("files") : line.end();
    return line.is_object() && found != line.end() && found->is_number_unsigned()
               ? found->get<std::size_t>()
               : 0;
}

}  // namespace

void Stage::settle(const GroupVerdict& verdict, std::optional<Rank> culprit) {
    wait_alarm_.set(std::nullopt);
    watch_.stop();
    times_.settled = services_.loop.now();
    Verdict own{.state = verdict.state,
                .blame = verdict.blame,
                .sentence = printable(verdict.sentence),
                .stage_dir = {},
                .paths = {}};
    if (verdict.state != VerdictState::failed && outcome_) {
        own.stage_dir = job_directory(services_.config, services_.verdicts, key_.job_id);
        if (key_.step_id != kWholeJob) {
            own.stage_dir += "/" + directory_names(key_.job_id, key_.step_id).back();
        }
        own.paths = outcome_->paths;
        own.directories = outcome_->directories;
    }
    if (!fits(own)) {
        own.paths.clear();
    }
    if (!fits(own)) {
        own.directories.clear();
    }
    const bool is_source = plan_ && group_->seat().self == Rank{0};
    const StageFacts facts{.key = key_,
                           .nodes = plan_ ? plan_->nodes.size() : 0,
                           .bytes = run_ ? run_->progress().bytes_total : 0,
                           .outcome = own.state,
                           .blame = own.blame,
                           .sentence = own.sentence,
                           .role = !is_push()  ? StageRole::job
                                   : is_source ? StageRole::source
                                               : StageRole::push};
    if (is_source) {
        log_time_line(services_.log, facts, times_);
    }
    if (wishes_.is_verbose && own.state == VerdictState::ok) {
        const std::size_t files = files_in(outcome_ ? outcome_->statistics : std::string{});
        own.sentence = summary_of(facts, files != 0 ? files : own.paths.size(), times_);
    }
    if (outcome_ && !own.paths.empty()) {
        add_library_directories(own, outcome_->library_directories);
    }
    const bool failed = own.state == VerdictState::failed;
    culprit_ = failed ? culprit : std::nullopt;
    if (failed && plan_) {
        forget_unreached();
    }
    count_settled(services_.counters, facts, times_);
    if (request_) {
        store(own, culprit_);
    }
    if (run_ && failed) {
        run_->abort(own.blame, own.sentence);
    } else if (run_) {
        run_->release();
    }
    if (!has_process()) {
        leave_place();
    }
    verdict_ = std::move(own);
    remember();
    if (failed && is_first_ && key_.step_id == kWholeJob && !is_over_) {
        tell_slurm();
    }
    if (!is_requeuing_) {
        answer_waiting();
    }
}

/// The plugin here hears the verdict after slurmctld, if the job is to be requeued: until this
/// node's prolog returns no batch script runs, and one that began would fail the job first.
void Stage::tell_slurm() {
    is_requeuing_ = is_to_be_requeued(services_.config, key_, verdict_->blame);
    if (!is_requeuing_) {
        await_begin();
    }
    notice_.tell(key_, verdict_->sentence, is_requeuing_, [this] {
        if (std::exchange(is_requeuing_, false)) {
            answer_waiting();
        }
        tell_change();
    });
}

void Stage::answer_waiting() {
    for (const OnVerdict& answer : std::exchange(waiting_, {})) {
        answer(*verdict_);
    }
}

/// Slurm is asked anew where they are.
void Stage::forget_unreached() {
    const Failures all = failures();
    std::vector<Rank> ranks = all.unnamed();
    for (const Failure& failure : all.named()) {
        if (failure.blame == Blame::node) {
            ranks.push_back(failure.rank);
        }
    }
    for (const Rank rank : ranks) {
        if (rank.index() < plan_->nodes.size()) {
            services_.addressed.erase(plan_->nodes[rank.index()].name);
        }
    }
}

void Stage::store(const Verdict& verdict, std::optional<Rank> culprit) {
    if (!services_.verdicts.save(key_, verdict, culprit)) {
        services_.log.warn("a verdict can't be stored; is RunDir full?",
                           {{"job", key_.job_id}});
    }
}

void Stage::abandon() {
    const Failure reason = *reason_;
    settle({.state = VerdictState::failed,
            .blame = reason.blame,
            .sentence = "node " + name_of_self() + ": " + reason.sentence,
            .culprit = {}},
           std::nullopt);
    if (group_) {
        stop_all(reason.blame, reason.sentence);
    }
    clean_up();
}

/// What is stored goes with the directory (cleaner.h), once the worker has left.
void Stage::clean_up() {
    if (run_) {
        run_->abort(Blame::user, "the job has ended");
    }
}

}  // namespace stage
