#include "stager/daemon/stage.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"
#include "stager/daemon/host_list.h"
#include "stager/daemon/outcome.h"

#include <algorithm>
#include <utility>

namespace stage {
Stage::Stage(Services& services, StageKey key, StageRoot stage_root, OnChange on_change)
    : services_{services},
      key_{key},
      stage_root_{std::move(stage_root)},
      on_change_{std::move(on_change)},
      planner_{services},
      inquiry_{services},
      canceller_{services},
      watch_{services, key, [this](const std::string& why) { stop_all(Blame::user, why); }},
      links_{services, *this},
      wait_alarm_{services.loop, [this] { on_late(); }},
      group_alarm_{services.loop, [this] {
                       group_->on_time(services_.loop.now());
                       follow_group();
                   }} {
    ++services_.counters.stages_begun;
}

Stage::~Stage() {
    if (counted_running_) {
        --services_.stages_running;
    }
}

// ---- what is asked of it

void Stage::announce(const StageRequest& request, OnVerdict on_verdict) {
    await_verdict(std::move(on_verdict));
    lingers_ = false;
    if (!request_) {
        request_ = request;
        wishes_ = wishes_of(request.specs);
        times_.announced = services_.loop.now();
        // If this daemon dies now, this is what the next one finds.
        const Verdict broken{
            .state = VerdictState::failed,
            .blame = Blame::node,
            .sentence = "node " + request.node_name +
                        ": stagecastd was restarted while it staged; submit the job again",
            .stage_dir = {},
            .paths = {}};
        store(verdict_.value_or(broken));
    }
    apply(StageEvent::announce);
}

void Stage::await_verdict(OnVerdict on_verdict) {
    if (verdict_) {
        on_verdict(*verdict_);
    } else {
        waiting_.push_back(std::move(on_verdict));
    }
}

void Stage::end() {
    lingers_ = false;
    reason_ = reason_.value_or(
        Failure{Rank{0}, Blame::user, "the job ended while its files were staged"});
    apply(StageEvent::end);
}

void Stage::break_off(const std::string& sentence) {
    if (is_open()) {
        stop_all(Blame::node, sentence);
    }
}

bool Stage::is_quiet() const {
    return !is_open() && !lingers_ && !has_process() && (!group_ || group_->is_finished()) &&
           links_.empty();
}

// ---- what is done next

void Stage::apply(StageEvent event) {
    const StageStep step = next_step(state_, event);
    services_.log.debug("stage step",
                        {{"job", key_.job_id},
                         {"state", to_string(state_)},
                         {"event", to_string(event)},
                         {"next", to_string(step.next)}});
    state_ = step.next;
    perform(step.action);
    tell_change();
}

void Stage::perform(StageAction action) {
    switch (action) {
        case StageAction::nothing:
        case StageAction::answer:
            break;  // Whoever asks a settled stage has been answered already.
        case StageAction::await_plan:
            await_plan();
            break;
        case StageAction::hold:
            wait_alarm_.set(services_.loop.now() + services_.config.announce_timeout);
            break;
        case StageAction::start:
            start();
            break;
        case StageAction::report_outcome:
            report_outcome();
            break;
        case StageAction::report_failure:
            report_failure();
            break;
        case StageAction::give_up:
            log_failure();
            settle({.state = VerdictState::failed,
                    .blame = reason_->blame,
                    .sentence = "node " + blamed_node_.value_or(name_of_self()) + ": " +
                                reason_->sentence});
            break;
        case StageAction::settle:
            settle(*group_->verdict());
            break;
        case StageAction::abandon:
            abandon();
            break;
        case StageAction::clean_up:
            clean_up();
            break;
    }
}

/// Why the worker must not start, or nothing.
std::optional<std::string> Stage::reason_against_start() const {
    const std::size_t self = group_->seat().self.index();
    if (!services_.config.enabled) {
        return "staging is switched off here (Enabled=no in stagecast.conf)";
    }
    if (plan_->nodes.at(self).name != request_->node_name) {
        return "the job's first node takes this node for " + plan_->nodes.at(self).name;
    }
    if (plan_->digest != digest_of(*request_)) {
        return "the job asks for other files here than on node " + plan_->nodes.front().name;
    }
    if (services_.stages_running >= services_.config.max_stages_per_node) {
        return "MaxStagesPerNode=" + std::to_string(services_.config.max_stages_per_node) +
               " jobs are staging here already; try again later";
    }
    return std::nullopt;
}

void Stage::start() {
    const auto reason = reason_against_start();
    if (reason) {
        fail(Blame::node, *reason);
        return;
    }
    const auto root = stage_root_();
    if (!root) {
        fail(root.error().blame(), root.error().sentence());
        return;
    }
    // Time enough for this node to say what it lacks before the root draws its verdict.
    const Instant deadline =
        std::min(*times_.announced + time_limit() - 2 * cushion(), group_deadline_ - cushion());
    wait_alarm_.set(deadline);
    counted_running_ = true;
    ++services_.stages_running;
    run_ = std::make_unique<NodeRun>(services_,
                                     static_cast<NodeRunOwner&>(*this),
                                     RunOrder{.request = *request_,
                                              .plan = *plan_,
                                              .self = group_->seat().self,
                                              .deadline = deadline});
    run_->begin(*root);
}

void Stage::report_outcome() {
    wait_alarm_.set(std::nullopt);
    times_.done = services_.loop.now();
    const NodeOutcome outcome{.state = outcome_->state,
                              .sentence = outcome_->sentence,
                              .statistics = outcome_->statistics};
    group_->contribute(services_.loop.now(), Collective::outcome, 0, encode(outcome));
    follow_group();
}

void Stage::report_failure() {
    wait_alarm_.set(std::nullopt);
    const Failure reason = *reason_;
    log_failure();
    // A worker that has said so itself ends the group in its own words.
    if (run_ && !outcome_) {
        run_->abort(reason.blame, "node " + name_of_self() + ": " + reason.sentence);
    }
    group_->fail(services_.loop.now(), reason);
    follow_group();
}

void Stage::log_failure() const {
    services_.log.info("a stage failed here",
                       {{"job", key_.job_id}, {"why", printable(reason_->sentence)}});
}

void Stage::settle(const GroupVerdict& verdict) {
    wait_alarm_.set(std::nullopt);
    watch_.stop();
    times_.settled = services_.loop.now();
    Verdict own{.state = verdict.state,
                .blame = verdict.blame,
                .sentence = printable(verdict.sentence),
                .stage_dir = {},
                .paths = {}};
    if (verdict.state != VerdictState::failed && outcome_) {
        own.stage_dir = services_.config.stage_root + "/" + std::to_string(key_.job_id);
        own.paths = outcome_->paths;
    }
    if (!fits(own)) {
        own.paths.clear();
    }
    const StageFacts facts{.key = key_,
                           .nodes = plan_ ? plan_->nodes.size() : 0,
                           .bytes = run_ ? run_->progress().bytes_total : 0,
                           .outcome = own.state,
                           .sentence = own.sentence};
    if (plan_ && group_->seat().self == Rank{0}) {
        log_time_line(services_.log, facts, times_);
    }
    if (wishes_.is_verbose && own.state == VerdictState::ok) {
        own.sentence = summary_of(facts, own.paths.size(), times_);
    }
    const bool failed = own.state == VerdictState::failed;
    ++(failed ? services_.counters.stages_failed : services_.counters.stages_ok);
    if (request_) {
        store(own);
        store_temporary();
    } else {
        // The plugin may still come; if it never does, nobody will end this job here.
        lingers_ = true;
        wait_alarm_.set(services_.loop.now() + time_limit());
    }
    if (run_ && failed) {
        run_->abort(own.blame, own.sentence);
    } else if (run_) {
        run_->release();
    }
    verdict_ = std::move(own);
    for (const OnVerdict& answer : std::exchange(waiting_, {})) {
        answer(*verdict_);
    }
}

void Stage::store(const Verdict& verdict) {
    if (!services_.verdicts.save(key_, verdict)) {
        services_.log.warn("a verdict can't be stored; is RunDir full?",
                           {{"job", key_.job_id}});
    }
}

/// Files outside of the job's directory that are to go with the job.
void Stage::store_temporary() {
    const auto specs = parse_serialized(request_->specs);
    std::vector<std::string> paths;
    for (std::size_t i = 0; specs && outcome_ && i < specs->size(); ++i) {
        const bool is_here = i < outcome_->paths.size() && !outcome_->paths[i].empty();
        const auto destination = destination_of(specs->at(i));
        if (is_here && specs->at(i).is_temporary && destination && destination->is_absolute) {
            paths.push_back(outcome_->paths[i]);
        }
    }
    const Leavings leavings{.uid = request_->uid, .gid = request_->gid, .paths = paths};
    if (!paths.empty() && !services_.verdicts.save_leavings(key_, leavings)) {
        services_.log.warn("temporary files of a job will stay; is RunDir full?",
                           {{"job", key_.job_id}});
    }
}

void Stage::abandon() {
    const Failure reason = *reason_;
    settle({.state = VerdictState::failed,
            .blame = reason.blame,
            .sentence = "node " + name_of_self() + ": " + reason.sentence});
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

void Stage::fail(Blame blame, std::string sentence) {
    const Rank self = group_ ? group_->seat().self : Rank{0};
    reason_ = Failure{self, blame, std::move(sentence)};
    apply(StageEvent::failed);
}

/// Whatever this node has reported before: the group must not go on.
void Stage::stop_all(Blame blame, const std::string& sentence) {
    if (!group_) {
        fail(blame, sentence);
        return;
    }
    group_->fail(services_.loop.now(), blame, sentence);
    group_->decide_now(services_.loop.now());
    follow_group();
}

// ---- from the run

void Stage::on_started() {
    times_.started = times_.started.value_or(services_.loop.now());
    apply(StageEvent::started);
}

void Stage::on_fence_part(std::uint32_t sequence, std::vector<std::byte> bytes) {
    group_->contribute(services_.loop.now(), Collective::fence, sequence, std::move(bytes));
    follow_group();
}

void Stage::on_group_part(std::uint32_t sequence) {
    group_->contribute(services_.loop.now(), Collective::group, sequence, {});
    follow_group();
}

void Stage::on_card(std::vector<std::byte> card) {
    group_->contribute(services_.loop.now(), Collective::cards, 0, std::move(card));
    follow_group();
}

void Stage::on_outcome(WorkerOutcome outcome) {
    outcome_ = std::move(outcome);
    if (outcome_->state == VerdictState::failed) {
        const bool others = outcome_->culprit.index() < plan_->nodes.size();
        reason_ = Failure{others ? outcome_->culprit : group_->seat().self,
                          outcome_->blame,
                          outcome_->sentence};
        apply(StageEvent::failed);
    } else {
        apply(StageEvent::done);
    }
}

void Stage::on_wire_up_lost(const std::string& why) {
    if (plan_->cards_follow) {
        return;  // It is under way already.
    }
    group_->request_direct(services_.loop.now(), why);
    follow_group();
}

void Stage::on_run_failed(Blame blame, const std::string& sentence) {
    fail(blame, sentence);
}

void Stage::on_gone() {
    if (!run_->last_statistics().empty()) {
        log_worker(services_.log, key_, run_->last_statistics());
    }
    if (counted_running_) {
        counted_running_ = false;
        --services_.stages_running;
    }
    apply(StageEvent::gone);
}

// ---- small

void Stage::tell_change() {
    services_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            const OnChange call = on_change_;  // It may destroy us.
            call();
        }
    });
}

std::string Stage::name_of_self() const {
    if (request_) {
        return request_->node_name;
    }
    return plan_ ? plan_->nodes.at(group_->seat().self.index()).name : "?";
}

}  // namespace stage
