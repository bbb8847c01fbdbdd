#include "stager/daemon/stage/stage.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/json_text.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/outside.h"
#include "stager/daemon/planning/requeued_request.h"
#include "stager/daemon/tree/outcome.h"
#include "stager/spec/amount.h"
#include "transport/base/log.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace stage {
namespace {

std::string progress_text(const WorkerProgress& progress) {
    if (progress.phase == WorkerPhase::wire_up) {
        return "the nodes were not wired up yet";
    }
    return amount_text(std::min(progress.bytes, progress.bytes_total)) + " of " +
           amount_text(progress.bytes_total) + " were here";
}

void log_failure(const Logger& log, const StageKey& key, const Failure& failure) {
    log.info("a stage failed here",
             {{"job", key.job_id}, {"why", printable(failure.sentence)}});
}

}  // namespace

Stage::Stage(Services& services,
             JobRoots& roots,
             const Cleaner& cleaner,
             StageKey key,
             OnChange on_change)
    : basics_{services.basics},
      services_{services},
      roots_{roots},
      cleaner_{cleaner},
      key_{key},
      traits_{traits_of(key)},
      on_change_{std::move(on_change)},
      result_{services.verdicts, basics_.log, key},
      place_{basics_.loop, basics_.config, services.ports, services.places},
      asker_{basics_.loop, basics_.children},
      slurm_{basics_,
             [this](std::function<void()> then) { watch_.after_report(std::move(then)); },
             key,
             [this] { tell_change(); }},
      watch_{basics_.loop,
             basics_.children,
             basics_.config,
             key,
             {.on_over =
                  [this](const std::string& why) {
                      is_over_ = true;
                      stop_all(Blame::user, why);
                  },
              .progress = [this] { return progress_sentence(view()); }}},
      plan_wait_{
          services.basics,
          {.places = services.places,
           .addresses = services.addresses,
           .hosts = services.hosts,
           .ports = services.ports,
           .dialer = services.dialer},
          place_,
          watch_,
          {.on_plan = [this](const StagePlan& plan) { on_plan(plan); },
           .on_fail =
               [this](Blame blame, std::string sentence, std::optional<std::string> node) {
                   blamed_node_ = std::move(node);
                   fail(blame, std::move(sentence));
               }}},
      wait_alarm_{basics_.loop, [this] { on_late(); }},
      removal_alarm_{basics_.loop, [this] { begin_run(); }} {
    ++basics_.counters.stages_begun;
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
    options_ = options_in(request.specs);
    times_.announced = basics_.loop.now();
    // From now on no other stage's end removes what this one may find in its place. (A
    // StageRoot that is unfit is reported when the run begins.)
    if (const auto root = roots_.to_stage(key_.job_id); root && !passage_) {
        static_cast<void>(OutsideFiles{}.begin(*root, request).ok());
    }
    result_.begin(request.node_name);
}

/// Its members are known already, and only root can take it away.
void Stage::push(const StageRequest& request, const StagePlan& plan, OnVerdict on_verdict) {
    invariant(!traits_.has_job && !request_, "a push begins once");
    await_verdict(std::move(on_verdict));
    take_request(request);
    apply(StageEvent::announce);
    drive_group(plan, Rank{0}, *times_.announced + limits().ends.verdict);
    group_->begin();
    apply(StageEvent::plan);
}

bool Stage::set_up(const SetupMessage& setup,
                   const StagePlan& plan,
                   std::unique_ptr<DrivenLink> link) {
    const std::size_t to = setup.to.index();
    const std::size_t from = setup.from.index();
    const bool names_fit = to < plan.nodes.size() && from < plan.nodes.size() &&
                           plan.nodes[from].name == link->link().peer_name() &&
                           plan.nodes[to].name == link->link().own_name();
    if (!names_fit ||
        (group_ && (group_->plan().session != plan.session || group_->self() != setup.to))) {
        return false;
    }
    const bool is_new = !group_;
    if (is_new) {
        const std::chrono::milliseconds remaining{setup.remaining_ms};
        drive_group(plan, setup.to, basics_.loop.now() + remaining);
    }
    if (!group_->take_parent(setup.from, std::move(link))) {
        return false;
    }
    if (is_new) {
        watch_.stop();  // The root does.
        apply(StageEvent::plan);
    }
    return true;
}

void Stage::fail_as(const Verdict& stored, std::optional<Rank> culprit) {
    const Rank rank = culprit.value_or(group_->self());
    if (rank.index() >= group_->plan().nodes.size()) {
        fail(stored.blame, stored.sentence);
        return;
    }
    // The group puts the name in front again.
    const std::string node = "node " + group_->plan().nodes[rank.index()].name + ": ";
    const bool has_name = stored.sentence.starts_with(node);
    reason_ = Failure{rank, stored.blame, stored.sentence.substr(has_name ? node.size() : 0)};
    apply(StageEvent::failed);
}

void Stage::end() {
    is_over_ = true;
    slurm_.on_job_end();
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

// ---- what is known of it

std::optional<std::uint32_t> Stage::uid() const {
    return request_ ? std::optional{request_->uid} : std::nullopt;
}

nlohmann::json Stage::status() const {
    return status_of(view());
}

nlohmann::json Stage::explanation() const {
    return explanation_of(view());
}

nlohmann::json Stage::transport() const {
    return transport_of(view());
}

Failures Stage::failures() const {
    Failures all = group_ ? group_->group().failures() : Failures{};
    if (reason_) {
        static_cast<void>(all.add(*reason_));
    }
    return all;
}

bool Stage::is_quiet() const {
    return !is_open() && !has_process() && (!group_ || group_->is_quiet()) && !slurm_.is_busy();
}

bool Stage::is_queued() const {
    return state_ == StageState::announced && plan_wait_.is_queued();
}

const std::string& Stage::first_node() const {
    static const std::string kUnknown;
    return group_ ? group_->plan().nodes.front().name : kUnknown;
}

const Verdict* Stage::unclaimed() const {
    return state_ == StageState::settled && !request_ ? &*result_.verdict() : nullptr;
}

StageView Stage::view() const {
    static const std::vector<Contribution> kNone;
    StageView view{.key = key_,
                   .state = state_,
                   .is_queued = is_queued(),
                   .times = times_,
                   .now = basics_.loop.now(),
                   .progress = run_ ? &run_->progress() : nullptr,
                   .outcomes = group_ ? group_->outcomes() : kNone,
                   .verdict = result_.verdict() ? &*result_.verdict() : nullptr};
    view.gateway = import_ ? import_->gateway() : std::string{};
    if (group_) {
        view.plan = &group_->plan();
        view.self = group_->self();
        view.group = group_->group().progress();
        view.dropped = group_->names_of_dropped();
    }
    return view;
}

TreeProgress Stage::own_progress() const {
    TreeProgress own;
    own.slowest = group_->self();
    if (run_) {
        own.bytes_least = run_->progress().bytes;
    }
    const bool keeps_no_copy = group_->plan().is_root_spared && group_->is_root();
    if (keeps_no_copy) {
        own.bytes_least = std::numeric_limits<std::uint64_t>::max();
    } else if (outcome_ && outcome_->state != VerdictState::failed) {
        own.done = 1;
    }
    return own;
}

std::string Stage::name_of_self() const {
    if (request_) {
        return request_->node_name;
    }
    return group_ ? group_->name_of_self() : "?";
}

StageLimits Stage::limits() const {
    return stage_limits(basics_.config, key_, options_);
}

// ---- what is done next

void Stage::apply(StageEvent event) {
    const StageStep step = next_step(state_, event);
    basics_.log.debug("stage step",
                      {{"job", key_.job_id},
                       {"state", to_string(state_)},
                       {"event", to_string(event)},
                       {"next", to_string(step.next)}});
    state_ = step.next;
    if (state_ != StageState::announced) {
        plan_wait_.stop();
    }
    perform(step.action);
    tell_change();
}

void Stage::perform(StageAction action) {
    switch (action) {
        case StageAction::nothing:
        case StageAction::answer:
            break;  // A caller of a settled stage has been answered already.
        case StageAction::await_plan:
            await_plan();
            break;
        case StageAction::hold:
            wait_alarm_.set(basics_.loop.now() + basics_.config.announce_timeout);
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
            give_up();
            break;
        case StageAction::settle:
            settle(*group_->group().verdict(), group_->group().verdict()->culprit);
            break;
        case StageAction::abandon:
            abandon();
            break;
        case StageAction::clean_up:
            clean_up();
            break;
    }
}

void Stage::tell_change() {
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            const OnChange call = on_change_;  // It may destroy us.
            call();
        }
    });
}

// ---- until there is a plan

void Stage::await_plan() {
    if (!traits_.has_job) {
        // The plan is what announced it: it comes at once.
        wait_alarm_.set(basics_.loop.now() + basics_.config.connect_timeout);
    } else {
        plan_wait_.begin(*request_, *times_.announced, limits());
    }
}

void Stage::on_plan(const StagePlan& plan) {
    if (!options_.cluster.empty() && !passage_ && !import_) {
        bring_in(plan);
        return;
    }
    drive_group(plan, Rank{0}, *times_.announced + limits().ends.verdict);
    group_->begin();  // The others begin now, however long the worker here takes.
    apply(StageEvent::plan);
}

/// The other nodes begin when the files do. If none come, the nodes meet all the same, and hear
/// why.
void Stage::bring_in(const StagePlan& plan) {
    wait_alarm_.set(*times_.announced + limits().ends.work);
    const auto go_on = [this, plan] {
        if (state_ == StageState::announced) {
            on_plan(plan);
        }
    };
    import_ = std::make_unique<Import>(services_,
                                       *request_,
                                       Import::Hooks{.on_ready =
                                                         [this, go_on](RunPassage passage) {
                                                             passage_ = std::move(passage);
                                                             go_on();
                                                         },
                                                     .on_fail = go_on});
    import_->begin();
}

// ---- with a plan

void Stage::drive_group(const StagePlan& plan, Rank self, Instant deadline) {
    times_.planned = basics_.loop.now();
    group_.emplace(basics_,
                   GroupDriver::Resources{services_.dialer, services_.ports},
                   key_,
                   plan,
                   self,
                   deadline,
                   GroupDriver::Hooks{
                       .on_command =
                           [this](StageCommand command) {
                               std::visit([this](auto& one) { obey(one); }, command);
                           },
                       .progress = [this] { return own_progress(); },
                       .on_change = [this] { tell_change(); },
                   });
}

/// Why the worker must not start, or nothing.
std::optional<std::string> Stage::reason_against_start() const {
    const StagePlan& plan = group_->plan();
    if (!basics_.config.enabled) {
        return "staging is switched off here (Enabled=no in stagecast.conf)";
    }
    if (group_->name_of_self() != request_->node_name) {
        return "the job's first node addresses this node as " + group_->name_of_self();
    }
    if (plan.digest != digest_of(*request_)) {
        return "the job asks for other files here than on node " + plan.nodes.front().name;
    }
    return std::nullopt;
}

void Stage::start() {
    if (import_ && import_->error() && !passage_) {
        fail(import_->error()->blame(), import_->error()->sentence());
        return;
    }
    const auto reason = reason_against_start();
    if (reason) {
        fail(Blame::node, *reason);
        return;
    }
    if (!place_.take_as_member(request_->uid)) {
        fail(Blame::node, no_place_for_member(basics_.config, services_.places));
        return;
    }
    // Time enough for this node to say what it lacks before the root draws its verdict.
    const TimeLimits ends = limits().ends;
    wait_alarm_.set(std::min(*times_.announced + ends.work,
                             group_->deadline() - (ends.verdict - ends.work)));
    begin_run();
}

/// Its cleanup list was made when it was announced. A removal that has begun before has not
/// read that, and could take what this stage finds in its place.
void Stage::begin_run() {
    constexpr Duration kLookAgain = std::chrono::milliseconds{50};
    if (state_ != StageState::starting || run_) {
        return;
    }
    if (cleaner_.is_following_lists(request_->uid) && !outside_of(request_->specs).empty()) {
        removal_alarm_.set(basics_.loop.now() + kLookAgain);
        return;
    }
    const auto root = roots_.to_stage(key_.job_id);
    if (!root) {
        fail(root.error().blame(), root.error().sentence());
        return;
    }
    run_ = std::make_unique<NodeRun>(basics_,
                                     NodeRun::Resources{.hosts = services_.hosts,
                                                        .verdicts = services_.verdicts,
                                                        .cache = services_.cache,
                                                        .closers = services_.closers,
                                                        .ports = services_.ports},
                                     static_cast<NodeRunOwner&>(*this),
                                     RunOrder{.request = *request_,
                                              .plan = group_->plan(),
                                              .self = group_->self(),
                                              // By then the nodes have said who is late.
                                              .deadline = group_->deadline(),
                                              .has_held_port = place_.has_held_port(),
                                              .passage = passage_});
    run_->begin(*root);
}

/// The time for what this state waits for is over.
void Stage::on_late() {
    if (!is_open()) {
        return;
    }
    const StageLimits allowed = limits();
    if (state_ == StageState::held && is_request_of(group_->plan().request, key_) &&
        !std::exchange(has_asked_job_, true)) {
        ask_job();
    } else if (state_ == StageState::held) {
        fail(Blame::node,
             kUnannounced + std::string{" (AnnounceTimeout="} +
                 seconds_text(basics_.config.announce_timeout) + ")");
    } else if (run_ && !group_->is_alone() && run_->awaits_others() &&
               !group_->group().is_finished()) {
        on_others_late();
    } else {
        fail(allowed.blame,
             "staging was not done within " + allowed.words + ": " +
                 (run_ ? progress_text(run_->progress()) : ""));
    }
}

/// Slurm may have left out this node's prolog (requeued_request.h).
void Stage::ask_job() {
    wait_alarm_.set(basics_.loop.now() + kSlurmAnswerMax);
    asker_.ask(JobStateQuestion{key_.job_id}, [this](const Result<SlurmAnswer>& answer) {
        if (state_ == StageState::held) {
            on_job(answer);
        }
    });
}

void Stage::on_job(const Result<SlurmAnswer>& answer) {
    const StagePlan& plan = group_->plan();
    const auto request =
        confirmed_request(*plan.request, plan.nodes.front().name, name_of_self(), answer);
    if (!request) {
        on_late();
        return;
    }
    basics_.log.info(
        "no prolog has announced a requeued job here; it is staged by the first node's word",
        {{"job", key_.job_id}, {"restart", key_.restart}});
    announce(*request, [](const Verdict&) {});
}

/// Those that are late say so themselves, in better words. A moment later they are named here.
void Stage::on_others_late() {
    const StageLimits allowed = limits();
    if (!std::exchange(others_are_late_, true)) {
        wait_alarm_.set(basics_.loop.now() + (allowed.ends.verdict - allowed.ends.work) / 2);
        return;
    }
    group_->name_awaited(allowed.blame,
                         "this node did not do its part within " + allowed.words);
}

// ---- what the group has for this node

void Stage::obey(group::Deliver& command) {
    if (run_ && command.kind == Collective::listening) {
        run_->all_listen();
    } else if (run_) {
        times_.wired = times_.wired.value_or(basics_.loop.now());
        run_->wire_up_result(command.kind, command.sequence, std::move(command.bytes));
    }
}

/// A node that starts later starts so; one that has said its outcome can't say another.
void Stage::obey(group::BeginEpoch& command) {
    if (state_ == StageState::reported) {
        stop_all(Blame::node,
                 command.epoch.draws == 0
                     ? "the wire-up was lost on another node after this one was done"
                     : "the wire-up began anew after this node was done");
    } else if (run_) {
        run_->begin_epoch(command.epoch);
    }
}

/// Fails here unless this node has reported that it has the files, which is true then.
void Stage::obey(group::Drop& command) {
    if (is_open() && state_ != StageState::reported) {
        reason_ = std::move(command.failure);
        apply(StageEvent::failed);
    }
}

void Stage::obey(group::Settle& /*command*/) {
    apply(StageEvent::verdict);
}

// ---- from the run

void Stage::on_started() {
    times_.started = times_.started.value_or(basics_.loop.now());
    if (group_->is_alone()) {
        times_.wired = times_.started;
    }
    apply(StageEvent::started);
}

void Stage::on_wire_up_part(Collective kind,
                            std::uint32_t sequence,
                            std::vector<std::byte> bytes) {
    group_->contribute(kind, sequence, std::move(bytes));
}

/// A worker that is alone hears no other, and may be gone before it could read that all listen.
void Stage::on_listening() {
    if (!group_->is_alone()) {
        group_->contribute(Collective::listening, 0, {});
    }
}

void Stage::on_outcome(WorkerOutcome outcome) {
    outcome_ = std::move(outcome);
    if (outcome_->state == VerdictState::failed) {
        const bool is_member = outcome_->culprit.index() < group_->plan().nodes.size();
        reason_ = Failure{is_member ? outcome_->culprit : group_->self(),
                          outcome_->blame,
                          outcome_->sentence};
        apply(StageEvent::failed);
    } else {
        apply(StageEvent::done);
    }
}

void Stage::on_dropped(const WorkerDropped& dropped) {
    group_->drop({dropped.rank, dropped.blame, dropped.sentence});
}

void Stage::on_wire_up_lost(const std::string& why) {
    if (!group_->plan().cards_follow) {  // Else it is under way already.
        group_->request_direct(why);
    }
}

void Stage::on_port_taken(const std::string& why) {
    group_->request_port(why);
}

void Stage::on_run_failed(Blame blame, const std::string& sentence) {
    fail(blame, sentence);
}

void Stage::on_gone() {
    if (const auto& counted = run_->last_statistics()) {
        log_worker(basics_.log, key_, *counted);
        count_worker(basics_.counters.workers, *counted);
    }
    place_.give_back();
    apply(StageEvent::gone);
}

// ---- what this node reports

void Stage::report_outcome() {
    wait_alarm_.set(std::nullopt);
    times_.done = basics_.loop.now();
    const NodeOutcome outcome{.state = outcome_->state,
                              .sentence = outcome_->sentence,
                              .statistics = outcome_->statistics.node};
    group_->contribute(Collective::outcome, 0, encode(outcome, group_->plan().nodes.size()));
}

void Stage::report_failure() {
    wait_alarm_.set(std::nullopt);
    const Failure reason = *reason_;
    log_failure(basics_.log, key_, reason);
    // A worker that has said so itself ends the group in its own words.
    if (run_ && !outcome_) {
        run_->abort(reason.blame, "node " + name_of_self() + ": " + reason.sentence);
    }
    if (group_->group().seat().can_leave() && run_ && run_->has_cards()) {
        group_->leave(reason);
    } else {
        group_->fail(reason);
    }
}

void Stage::fail(Blame blame, std::string sentence) {
    reason_ = Failure{group_ ? group_->self() : Rank{0}, blame, std::move(sentence)};
    apply(StageEvent::failed);
}

/// Whatever this node has reported before: the group must not go on.
void Stage::stop_all(Blame blame, const std::string& sentence) {
    if (group_) {
        group_->stop(blame, sentence);
    } else {
        fail(blame, sentence);
    }
}

// ---- the verdict, and the end

void Stage::settle(const GroupVerdict& verdict, std::optional<Rank> culprit) {
    wait_alarm_.set(std::nullopt);
    watch_.stop();
    times_.settled = basics_.loop.now();
    NodeVerdict own = own_verdict(verdict);
    const bool has_failed = verdict.state == VerdictState::failed || !verdict.dropped.empty();
    if (group_ && group_->is_root()) {
        log_time_line(basics_.log, own.facts, times_);
    }
    if (has_failed && group_) {
        // Slurm is asked anew where they are.
        for (const std::string& name : faulty_nodes(true)) {
            services_.addresses.doubt(name);
        }
    }
    if (has_failed && (!group_ || group_->is_root())) {
        own.facts.culprits = faulty_nodes(verdict.blame != Blame::user);
    }
    count_settled(basics_.counters, own.facts, times_);
    result_.set(std::move(own.verdict), culprit);
    end_run(*result_.verdict());
    remember();
    if (has_failed && plan_wait_.is_first() && key_.step_id == kWholeJob && !is_over_) {
        answer_after_slurm();
        return;
    }
    result_.answer();
    if (!has_failed && watch_.has_reported_progress()) {
        slurm_.report_success(watch_.last_order(own.summary));
    }
}

StageRole Stage::own_role() const {
    if (traits_.has_job) {
        return StageRole::job;
    }
    return group_ && group_->is_root() ? StageRole::source : StageRole::push;
}

/// Why the others went on without this node, if they did.
std::optional<Failure> Stage::why_dropped() const {
    if (!group_ || !group_->is_dropped()) {
        return std::nullopt;
    }
    Failure why = reason_.value_or(
        Failure{group_->self(), Blame::node, "the other nodes heard nothing of it"});
    why.sentence =
        "node " + name_of_self() + ": " + why.sentence + "; the job goes on without this node";
    return why;
}

NodeVerdict Stage::own_verdict(const GroupVerdict& verdict) const {
    std::string directory;
    if (outcome_) {
        directory = job_directory(basics_.config, services_.verdicts, key_.job_id);
        if (key_.step_id != kWholeJob) {
            directory += "/" + directory_names(key_.job_id, key_.step_id).back();
        }
    }
    return node_verdict(
        verdict,
        {.key = key_,
         .nodes = group_ ? group_->plan().nodes.size() : 0,
         .bytes = run_ ? run_->progress().bytes_total : 0,
         .role = own_role(),
         .outcome = outcome_,
         .stage_dir = directory,
         .is_verbose = options_.is_verbose,
         .dropped_nodes =
             group_ ? names_of_dropped(verdict, group_->group().seat().names) : std::string{},
         .port_beyond_range = run_ ? run_->port_beyond() : std::nullopt,
         .own_failure = why_dropped(),
         .times = times_});
}

void Stage::end_run(const Verdict& verdict) {
    if (import_ && is_failure(verdict.state)) {
        import_->cancel(verdict.sentence);
    }
    if (run_ && is_failure(verdict.state)) {
        run_->abort(verdict.blame, verdict.sentence);
    } else if (run_) {
        run_->release();
    }
    if (!has_process()) {
        place_.give_back();
    }
}

std::vector<std::string> Stage::faulty_nodes(bool with_unnamed) const {
    if (import_ && import_->error()) {
        return {};  // It is a gateway of another cluster.
    }
    if (group_) {
        return group_->names_of(failures().at_fault(with_unnamed));
    }
    return with_unnamed ? std::vector{blamed_node_.value_or(name_of_self())}
                        : std::vector<std::string>{};
}

/// For later calls of `stagecast explain`.
void Stage::remember() {
    if (!request_) {
        return;
    }
    services_.ended.push_back({key_, request_->uid, json_text(explanation())});
    if (services_.ended.size() > kMaxEnded) {
        services_.ended.pop_front();
    }
}

/// The first node's: of a whole job whose stage has failed, or went on without some nodes.
void Stage::answer_after_slurm() {
    const std::size_t nodes = group_ ? group_->plan().nodes.size() : 1;
    const bool is_elsewhere = import_ && import_->error();
    const std::vector<std::string> suspects = is_elsewhere ? std::vector<std::string>{}
                                              : group_
                                                  ? group_->names_of(failures().suspects(nodes))
                                              : blamed_node_ ? std::vector{*blamed_node_}
                                                             : std::vector<std::string>{};
    // The prolog of a node that the first one can't reach waits as long as it must.
    const Duration longest = setup_max(basics_.config, nodes - 1, nodes);
    const bool waits = slurm_.report_fault({.verdict = *result_.verdict(),
                                            .suspects = suspects,

                                            .latest_prolog = *times_.announced + longest},
                                           [this] {
                                               result_.answer();
                                               tell_change();
                                           });
    if (!waits) {
        result_.answer();
    }
}

/// There is no tree to report to.
void Stage::give_up() {
    log_failure(basics_.log, key_, *reason_);
    settle(
        {.state = VerdictState::failed,
         .blame = reason_->blame,
         .sentence = "node " + blamed_node_.value_or(name_of_self()) + ": " + reason_->sentence,
         .culprit = {}},
        blamed_node_ ? std::optional{Rank{0}} : std::nullopt);
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
