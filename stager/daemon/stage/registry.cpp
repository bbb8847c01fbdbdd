#include "stager/daemon/stage/registry.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/local_steps.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/legs/leg_permits.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/stage/push_rules.h"
#include "stager/link/cluster_name.h"
#include "stager/link/link.h"
#include "transport/base/log.h"
#include "transport/os/installation.h"

#include <algorithm>

namespace stage {
namespace {

constexpr const char* kTooManyHeld =
    "too many stages are held that no plugin has announced here; is stagecast.so in "
    "plugstack.conf there, and can it be loaded?";

/// Same link protocol version, but an incompatible format of the plan.
std::string unreadable_plan(const std::string& node) {
    return "stagecastd here, version " + std::string{version()} +
           ", can't read the plan of that of node " + node +
           ", so they are of different releases; install the same release of stagecast on both";
}

bool covers(std::uint32_t asked_step, std::uint32_t step) {
    return asked_step == kWholeJob || asked_step == step;
}

}  // namespace

Registry::Registry(Services& services)
    : basics_{services.basics},
      services_{services},
      roots_{basics_.config, services.verdicts},
      cleaner_{services.basics, services.verdicts, roots_},
      endings_{basics_.loop,
               services.verdicts,
               cleaner_,
               [this](std::uint32_t job_id, std::uint32_t step_id) {
                   return has_process(job_id, step_id);
               },
               [this](std::uint32_t job_id) { return is_here(job_id); }},
      sweep_{
          services.basics,
          services.verdicts,
          {.stage_root = [this] { return roots_.current(); },
           .is_here = [this](std::uint32_t job_id) { return is_here(job_id); },
           .steps = [] { return jobs_with_steps(); },
           .remove = [this](std::uint32_t job_id) { endings_.begin(job_id, kWholeJob, [] {}); },
           .remove_set_aside = [this] { cleaner_.remove_set_aside(); }}} {
}

// ---- requests

void Registry::on_request(const StageRequest& request, Answer answer) {
    if (request.is_late && request.key.step_id == kWholeJob) {
        find_life(request, std::move(answer));
    } else {
        on_stage(request, std::move(answer));
    }
}

void Registry::on_stage(const StageRequest& request, Answer answer) {
    if (basics_.config.node_name.empty()) {
        services_.links.node_name = request.node_name;
    }
    const auto [job_id, step_id, restart] = request.key;
    if (endings_.is_in_the_way(job_id, step_id)) {
        basics_.log.info("a stage waits until the files of the job's earlier run are removed",
                         {{"job", job_id}, {"restart", restart}});
        endings_.when_clear(
            job_id, step_id, [this, request, answer] { on_stage(request, answer); });
        return;
    }
    // Its verdict is known from an earlier daemon, or it was dropped: it is not staged again.
    if (stages_.count(request.key) == 0) {
        claim(request.key);
        const auto known = services_.verdicts.load(request.key);
        if (known) {
            answer(*known);
            return;
        }
    }
    stage_of(request.key).announce(request, [call = std::move(answer)](const Verdict& verdict) {
        call(verdict);
    });
}

/// A batch step does not know which run of a requeued job it is (Slurm 22.05.8, measured), and
/// the other nodes' prologs do.
void Registry::find_life(const StageRequest& request, Answer answer) {
    const auto asker = askers_.emplace(askers_.end(), basics_.loop, basics_.children);
    asker->ask(JobStateQuestion{request.key.job_id},
               [this, asker, request, answer](const Result<SlurmAnswer>& said) {
                   StageRequest known = request;
                   const auto* job = said ? std::get_if<SlurmJob>(&*said) : nullptr;
                   if (job != nullptr && job->state != SlurmJobState::absent) {
                       known.key.restart = job->restart_count;
                   }
                   basics_.loop.defer([this, asker] { askers_.erase(asker); });
                   on_stage(known, answer);
               });
}

/// The plugin has come later than the verdict: stores the verdict until the job's end.
void Registry::claim(const StageKey& key) {
    const auto* entry = unclaimed_.find(key, basics_.loop.now());
    if (entry == nullptr) {
        return;
    }
    if (!services_.verdicts.save(key, entry->verdict, entry->culprit)) {
        basics_.log.warn("cannot store a verdict; is RunDir full?", {{"job", key.job_id}});
    }
    unclaimed_.remove(key);
}

/// The verdict of a stage that is over, stored here or received from other daemons.
std::optional<Verdict> Registry::stored_verdict(const StageKey& key) const {
    auto stored = services_.verdicts.load(key);
    if (!stored) {
        const auto* entry = unclaimed_.find(key, basics_.loop.now());
        stored = entry != nullptr ? std::optional{entry->verdict} : std::nullopt;
    }
    return stored;
}

/// The newest restart of this job or step that is live or has a verdict; `asked` if none is.
StageKey Registry::latest(const StageKey& asked) const {
    StageKey newest{.job_id = asked.job_id, .step_id = asked.step_id, .restart = 0};
    const auto consider = [&newest](const StageKey& key) {
        if (key.job_id == newest.job_id && key.step_id == newest.step_id) {
            newest.restart = std::max(newest.restart, key.restart);
        }
    };
    for (const auto& [key, stage] : stages_) {
        consider(key);
    }
    for (const StageKey& key : services_.verdicts.all()) {
        consider(key);
    }
    for (const auto& entry : unclaimed_.all()) {
        consider(entry.key);
    }
    return newest;
}

void Registry::on_request(const QueryRequest& request, const Answer& answer) {
    const StageKey& asked = request.key;
    const StageKey key = asked.restart == kLatestLife ? latest(asked) : asked;
    const auto found = stages_.find(key);
    const bool is_live = found != stages_.end();
    if (asked.restart == kLatestLife && endings_.is_in_the_way(key.job_id, key.step_id) &&
        !(is_live && found->second->is_open())) {
        answer(Verdict{});  // That run has ended here, and its files are about to go.
        return;
    }
    // A stage that other daemons have set up again here may have ended long ago.
    const bool may_be_stored = !is_live || !found->second->is_announced();
    const auto stored = may_be_stored ? stored_verdict(key) : std::nullopt;
    if (is_live && !stored) {
        found->second->await_verdict([answer](const Verdict& verdict) { answer(verdict); });
        return;
    }
    answer(stored.value_or(Verdict{}));
}

void Registry::on_request(const EndRequest& request, Answer answer) {
    for (const auto& [key, stage] : stages_) {
        if (key.job_id == request.job_id && covers(request.step_id, key.step_id)) {
            stage->end();
        }
    }
    unclaimed_.remove_job(request.job_id, request.step_id);
    if (request.step_id == kWholeJob) {
        ended_.push_back(request.job_id);
        if (ended_.size() > kRememberedEnds) {
            ended_.pop_front();
        }
    }
    endings_.begin(
        request.job_id, request.step_id, [call = std::move(answer)] { call(Ack{}); });
}

// ---- other daemons

void Registry::on_setup(const SetupMessage& setup, std::unique_ptr<DrivenLink> link) {
    const std::string node = link->link().peer_name();
    const auto plan = decode_plan(setup.plan);
    const bool is_known = stages_.count(setup.key) > 0;
    if (!plan || (!is_known && !may_hold(plan->nodes.front().name))) {
        ++basics_.counters.messages_refused;
        basics_.log.warn(
            "refused a SETUP of another stagecastd; do both nodes run one version?",
            {{"node", node},
             {"job", setup.key.job_id},
             {"why", plan ? "too many stages are held" : "malformed"}});
        refuse(setup, plan ? kTooManyHeld : unreadable_plan(node), std::move(link));
        return;
    }
    if (is_of_cluster(node)) {
        on_leg(setup, *plan, std::move(link));
        return;
    }
    learn_name(setup, *plan, link->link());
    const bool has_job = traits_of(setup.key).has_job;
    // The stage is over here, as after a restart of this daemon: no plugin announces it again.
    const auto stored = is_known ? std::nullopt : stored_verdict(setup.key);
    if (stored && (stored->state != VerdictState::failed || !has_job)) {
        return;
    }
    if (!has_job || !plan->push_specs.empty()) {
        if (auto objection = objection_to(setup, *plan)) {
            ++basics_.counters.messages_refused;
            basics_.log.warn("refused a push", {{"node", node}, {"why", *objection}});
            refuse(setup, *std::move(objection), std::move(link));
            return;
        }
        if (!is_known) {
            announce_push(setup, *plan);
        }
    }
    if (!stage_of(setup.key).set_up(setup, *plan, std::move(link))) {
        ++basics_.counters.messages_refused;
        basics_.log.warn(
            "a SETUP does not match its stage; do both nodes have the same slurm.conf?",
            {{"node", node}, {"job", setup.key.job_id}});
        on_change(setup.key);
    } else if (stored) {
        const auto* entry = unclaimed_.find(setup.key, basics_.loop.now());
        stage_of(setup.key).fail_as(
            *stored,
            entry != nullptr ? entry->culprit : services_.verdicts.culprit_of(setup.key));
    }
}

/// Sends the reason back, so that the job's owner sees it, and not only this node's log.
void Registry::refuse(const SetupMessage& setup,
                      std::string sentence,
                      std::unique_ptr<DrivenLink> link) {
    send_last(basics_.loop,
              std::move(link),
              encode(FailedMessage{{{setup.to, Blame::node, std::move(sentence)}}}));
}

/// Until slurmd has given this node's name, learns it from the parent's SETUP, so that the
/// nodes further down the tree see a valid name of their caller.
void Registry::learn_name(const SetupMessage& setup, const StagePlan& plan, const Link& link) {
    const std::size_t to = setup.to.index();
    if (services_.links.node_name.empty() && to < plan.nodes.size() &&
        plan.nodes[to].name == link.called_name()) {
        services_.links.node_name = plan.nodes[to].name;
    }
}

/// A push has no plugin that announces it.
void Registry::announce_push(const SetupMessage& setup, const StagePlan& plan) {
    const std::string& own = plan.nodes.at(setup.to.index()).name;
    stage_of(setup.key).announce(request_of_push(setup.key, plan, own), [](const Verdict&) {});
}

/// From another cluster: this node was asked, or has asked, before (leg_permits.h). A leg is
/// made of two members, so that its SETUP comes once.
void Registry::on_leg(const SetupMessage& setup,
                      const StagePlan& plan,
                      std::unique_ptr<DrivenLink> link) {
    const std::string node = link->link().peer_name();
    auto permit = traits_of(setup.key).has_job || stages_.contains(setup.key) ||
                          setup.to != Rank{1} || setup.from != Rank{0}
                      ? std::nullopt
                      : services_.leg_permits.take(node, plan);
    if (!permit) {
        ++basics_.counters.messages_refused;
        basics_.log.warn("refused a leg of another cluster", {{"node", node}});
        refuse(setup,
               "this node has not agreed to receive that; push or submit again",
               std::move(link));
        return;
    }
    Stage& stage = stage_of(setup.key);
    stage.pass(permit->passage);
    stage.announce(request_of_push(setup.key, plan, plan.nodes.back().name), permit->on_end);
    const StageKey key = setup.key;
    permit->on_begin({.break_off =
                          [this, key](const std::string& why) {
                              if (Stage* const leg = find(key)) {
                                  leg->break_off(why);
                              }
                          },
                      .is_gone =
                          [this, key] {
                              const Stage* const leg = find(key);
                              return leg == nullptr || !leg->has_process();
                          }});
    if (!stage.set_up(setup, plan, std::move(link))) {
        stage.break_off("the leg's SETUP does not fit this node");
    }
}

/// The other end is root (link.h); this node's configuration and the permit that it gave to the
/// source (push_permits.h) must allow the push as well.
std::optional<std::string> Registry::objection_to(const SetupMessage& push,
                                                  const StagePlan& plan) {
    if (traits_of(push.key).has_job || push.to.index() >= plan.nodes.size()) {
        return "the plan of the push is malformed";
    }
    auto objection = objection_to_push(basics_.config, plan.push_specs);
    return objection ? objection
                     : services_.push_permits.take(push.key, plan, basics_.loop.now());
}

void Registry::push(const StageKey& key,
                    const StagePlan& plan,
                    const std::optional<RunPassage>& passage,
                    Stage::OnVerdict on_verdict) {
    Stage& stage = stage_of(key);
    if (passage) {
        stage.pass(*passage);
    }
    stage.push(
        request_of_push(key, plan, plan.nodes.front().name), plan, std::move(on_verdict));
}

Stage* Registry::find(const StageKey& key) {
    const auto found = stages_.find(key);
    return found == stages_.end() ? nullptr : found->second.get();
}

std::vector<const Stage*> Registry::all() const {
    std::vector<const Stage*> all;
    for (const auto& [key, stage] : stages_) {
        all.push_back(stage.get());
    }
    return all;
}

/// No END comes for a push, so its end on this node is handled here.
void Registry::clear_push(const StageKey& key) {
    services_.push_permits.release(key, basics_.loop.now());
    basics_.loop.defer([this, key] { endings_.begin(key.job_id, key.step_id, [] {}); });
}

// ---- stages

Stage& Registry::stage_of(const StageKey& key) {
    std::unique_ptr<Stage>& stage = stages_[key];
    if (!stage) {
        stage = std::make_unique<Stage>(
            services_, roots_, cleaner_, key, [this, key] { on_change(key); });
    }
    return *stage;
}

TellMessage Registry::tell(const StageKey& key) const {
    const auto found = stages_.find(key);
    if (found != stages_.end()) {
        return {found->second->is_queued() || found->second->awaits_import() ? TellWord::queued
                : found->second->is_announced() ? TellWord::announced
                                                : TellWord::unannounced};
    }
    if (endings_.is_awaited(key.job_id, key.step_id)) {
        return {TellWord::queued};
    }
    return {services_.verdicts.load(key) ? TellWord::announced : TellWord::unannounced};
}

void Registry::on_change(StageKey key) {
    const auto found = stages_.find(key);
    if (found != stages_.end() && found->second->is_quiet()) {
        keep_verdict(*found->second);
        stages_.erase(found);
        if (!traits_of(key).has_job) {
            clear_push(key);
        }
    }
    endings_.look(key.job_id);
    const bool open = std::any_of(
        stages_.begin(), stages_.end(), [](const auto& one) { return one.second->is_open(); });
    if (on_empty_ && !open) {
        basics_.loop.defer(std::exchange(on_empty_, nullptr));
    }
}

/// If no plugin has announced the stage, it may still come; if it never does, no END will come
/// for this job here.
void Registry::keep_verdict(const Stage& stage) {
    const Verdict* verdict = stage.unclaimed();
    if (verdict != nullptr) {
        const Instant now = basics_.loop.now();
        unclaimed_.add({.key = stage.key(),
                        .verdict = *verdict,
                        .culprit = stage.culprit(),
                        .until = now + basics_.config.stage_timeout},
                       now);
    }
}

bool Registry::has_process(std::uint32_t job_id, std::uint32_t step_id) const {
    return std::any_of(stages_.begin(), stages_.end(), [&](const auto& one) {
        return one.first.job_id == job_id && covers(step_id, one.first.step_id) &&
               one.second->has_process();
    });
}

bool Registry::has_ended(std::uint32_t job_id) const {
    return std::find(ended_.begin(), ended_.end(), job_id) != ended_.end();
}

bool Registry::is_here(std::uint32_t job_id) const {
    return std::any_of(stages_.begin(), stages_.end(), [&](const auto& one) {
        return one.first.job_id == job_id;
    });
}

bool Registry::may_hold(const std::string& first_node) const {
    std::size_t all = 0;
    std::size_t of_first_node = 0;
    for (const auto& [key, stage] : stages_) {
        if (!stage->is_announced()) {
            ++all;
            of_first_node += stage->first_node() == first_node ? 1U : 0U;
        }
    }
    return all < kMaxHeld && of_first_node < kMaxHeld - all;
}

void Registry::break_off(const std::string& sentence, OnEmpty on_empty) {
    on_empty_ = std::move(on_empty);
    std::vector<StageKey> keys;
    for (const auto& [key, stage] : stages_) {
        keys.push_back(key);
    }
    for (const StageKey& key : keys) {
        stages_.at(key)->break_off(sentence);
    }
    if (keys.empty()) {
        basics_.loop.defer(std::exchange(on_empty_, nullptr));
    } else {
        on_change(keys.front());
    }
}

}  // namespace stage
