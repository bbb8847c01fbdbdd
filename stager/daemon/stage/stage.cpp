#include "stager/daemon/stage/stage.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/outside.h"
#include "stager/daemon/stage/stage_places.h"
#include "stager/daemon/tree/outcome.h"
#include "stager/spec/spec_list.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
Stage::Stage(Services& services,
             StageKey key,
             StageRoot stage_root,
             IsRemoving is_removing,
             OnChange on_change)
    : services_{services},
      key_{key},
      stage_root_{std::move(stage_root)},
      is_removing_{std::move(is_removing)},
      on_change_{std::move(on_change)},
      planner_{services},
      inquiry_{services},
      canceller_{services},
      notice_{services},
      watch_{services,
             key,
             [this](const std::string& why) {
                 is_over_ = true;
                 stop_all(Blame::user, why);
             }},
      links_{services, *this},
      wait_alarm_{services.loop, [this] { on_late(); }},
      begin_alarm_{services.loop, [this] { cancel_unbegun(); }},
      removal_alarm_{services.loop, [this] { begin_run(); }},
      group_alarm_{services.loop, [this] {
                       group_->set_progress(own_progress());
                       group_->on_time(services_.loop.now());
                       follow_group();
                   }} {
    ++services_.counters.stages_begun;
}

Stage::~Stage() {
    leave_place();
}

// ---- what is asked of it

void Stage::announce(const StageRequest& request, OnVerdict on_verdict) {
    await_verdict(std::move(on_verdict));
    if (!request_) {
        take_request(request);
    }
    apply(StageEvent::announce);
}

void Stage::take_request(const StageRequest& request) {
    request_ = request;
    wishes_ = wishes_of(request.specs);
    times_.announced = services_.loop.now();
    // From now on no other stage's end removes what this one may find in its place. (A
    // StageRoot that is unfit is told when the run begins.)
    if (const auto root = stage_root_()) {
        static_cast<void>(OutsideFiles{}.begin(*root, request).ok());
    }
    // If this daemon dies now, this is what the next one finds.
    const Verdict broken{
        .state = VerdictState::failed,
        .blame = Blame::node,
        .sentence = "node " + request.node_name +
                    ": stagecastd was restarted while it staged; submit the job again",
        .stage_dir = {},
        .paths = {}};
    store(verdict_.value_or(broken), culprit_);
}

/// Who takes part is known already, and nobody but root can take it away.
void Stage::push(const StageRequest& request, const StagePlan& plan, OnVerdict on_verdict) {
    invariant(is_push() && !request_, "a push begins once");
    await_verdict(std::move(on_verdict));
    take_request(request);
    apply(StageEvent::announce);
    make_group(plan, Rank{0}, *times_.announced + limits().ends.verdict);
    follow_group();
    apply(StageEvent::plan);
}

void Stage::await_verdict(OnVerdict on_verdict) {
    if (verdict_ && !is_requeuing_) {
        on_verdict(*verdict_);
    } else {
        waiting_.push_back(std::move(on_verdict));
    }
}

void Stage::end() {
    is_over_ = true;
    awaits_begin_ = false;
    begin_alarm_.set(std::nullopt);
    reason_ = reason_.value_or(
        Failure{Rank{0}, Blame::user, "the job ended while its files were staged"});
    apply(StageEvent::end);
}

void Stage::break_off(const std::string& sentence) {
    is_over_ = true;  // No time to ask.
    if (is_open()) {
        stop_all(Blame::node, sentence);
    }
}

Failures Stage::failures() const {
    Failures all = group_ ? group_->failures() : Failures{};
    if (reason_) {
        static_cast<void>(all.add(*reason_));
    }
    return all;
}

bool Stage::is_quiet() const {
    return !is_open() && !has_process() && (!group_ || group_->is_finished()) &&
           links_.empty() && !notice_.is_busy() && !awaits_begin_;
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
                                reason_->sentence,
                    .culprit = {}},
                   blamed_node_ ? std::optional{Rank{0}} : std::nullopt);
            break;
        case StageAction::settle:
            settle(*group_->verdict(), group_->verdict()->culprit);
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
    return std::nullopt;
}

void Stage::start() {
    const auto reason = reason_against_start();
    if (reason) {
        fail(Blame::node, *reason);
        return;
    }
    if (!place_) {
        services_.places.set_limit(services_.config.max_stages_per_node);
        place_ = services_.places.take_as_member(request_->uid);
        has_place_ = place_.has_value();
    }
    if (!has_place_) {
        fail(Blame::node, no_place());
        return;
    }
    // Time enough for this node to say what it lacks before the root draws its verdict.
    run_deadline_ = std::min(*times_.announced + limits().ends.work,
                             group_deadline_ - (limits().ends.verdict - limits().ends.work));
    wait_alarm_.set(run_deadline_);
    begin_run();
}

/// Its cleanup list was made when it was announced. A removal that has begun before has not
/// read that, and could take what this stage finds in its place.
void Stage::begin_run() {
    constexpr Duration kLookAgain = std::chrono::milliseconds{50};
    if (state_ != StageState::starting || run_) {
        return;
    }
    if (is_removing_(request_->uid) && !outside_of(request_->specs).empty()) {
        removal_alarm_.set(services_.loop.now() + kLookAgain);
        return;
    }
    const auto root = stage_root_();
    if (!root) {
        fail(root.error().blame(), root.error().sentence());
        return;
    }
    run_ = std::make_unique<NodeRun>(services_,
                                     static_cast<NodeRunOwner&>(*this),
                                     RunOrder{.request = *request_,
                                              .plan = *plan_,
                                              .self = group_->seat().self,
                                              // By then the nodes have said who is late.
                                              .deadline = group_deadline_});
    run_->begin(*root);
}

void Stage::report_outcome() {
    wait_alarm_.set(std::nullopt);
    times_.done = services_.loop.now();
    const NodeOutcome outcome{.state = outcome_->state,
                              .sentence = outcome_->sentence,
                              .statistics = statistics_to_tell(outcome_->statistics)};
    group_->contribute(
        services_.loop.now(), Collective::outcome, 0, encode(outcome, plan_->nodes.size()));
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

void Stage::fail(Blame blame, std::string sentence) {
    const Rank self = group_ ? group_->seat().self : Rank{0};
    reason_ = Failure{self, blame, std::move(sentence)};
    apply(StageEvent::failed);
}

void Stage::fail_as(const Verdict& stored, std::optional<Rank> culprit) {
    const Rank rank = culprit.value_or(group_->seat().self);
    if (rank.index() >= plan_->nodes.size()) {
        fail(stored.blame, stored.sentence);
        return;
    }
    // Whoever puts sentences together says the name again.
    const std::string node = "node " + plan_->nodes[rank.index()].name + ": ";
    const bool has_name = stored.sentence.starts_with(node);
    reason_ = Failure{rank, stored.blame, stored.sentence.substr(has_name ? node.size() : 0)};
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
    if (is_alone()) {
        times_.wired = times_.started;
    }
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
    group_->contribute(services_.loop.now(), Collective::cards, moves_, std::move(card));
    follow_group();
}

/// Who is alone hears nobody, and may be gone before it could read that all listen.
void Stage::on_listening() {
    if (is_alone()) {
        return;
    }
    group_->contribute(services_.loop.now(), Collective::listening, wire_up(), {});
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
    leave_place();
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
