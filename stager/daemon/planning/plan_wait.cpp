#include "stager/daemon/planning/plan_wait.h"

#include "stager/daemon/planning/requeued_request.h"
#include "stager/slurm/host_list.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// Without a SETUP, until a node asks slurmctld whether the job is still wanted,
constexpr Duration kEarlyLook = std::chrono::seconds{3};
/// each later than the one before it.
constexpr Duration kLookTurn = std::chrono::milliseconds{5};
/// Stages in the queue for which slurmctld is asked whether the job still runs.
constexpr std::size_t kWatchedMax = 32;

}  // namespace

PlanWait::PlanWait(const Basics& basics,
                   const Resources& resources,
                   PlaceTicket& place,
                   JobWatch& watch,
                   Hooks hooks)
    : basics_{basics},
      places_{resources.places},
      addresses_{resources.addresses},
      place_{place},
      watch_{watch},
      hooks_{std::move(hooks)},
      planner_{basics,
               {.addresses = resources.addresses,
                .hosts = resources.hosts,
                .ports = resources.ports}},
      probe_{basics, resources.addresses, resources.dialer},
      asker_{basics.loop, basics.children},
      alarm_{basics.loop, [this] { on_late(); }} {
}

void PlanWait::begin(const StageRequest& request,
                     Instant announced,
                     const StageLimits& limits) {
    request_ = request;
    announced_ = announced;
    limits_ = limits;
    if (!basics_.config.enabled) {
        fail(Blame::user, "staging is switched off here (Enabled=no in stagecast.conf)");
        return;
    }
    auto names = expand_host_list(request_.node_list);
    const auto rank = names ? position_of(*names, request_.node_name) : std::nullopt;
    if (!rank) {
        fail(Blame::internal,
             names ? "this node is not in the job's node list" : names.error().sentence());
        return;
    }
    if (*rank != 0) {
        await_setup(names->front(), *rank, names->size());
    } else {
        await_place(std::move(*names));
    }
}

void PlanWait::stop() {
    is_over_ = true;
    alarm_.set(std::nullopt);
}

bool PlanWait::is_queued() const {
    return !is_over_ &&
           (place_.is_waiting() || (setup_wait_ && setup_wait_->is_first_queued()));
}

void PlanWait::fail(Blame blame, std::string sentence) {
    hooks_.on_fail(blame, std::move(sentence), std::nullopt);
}

/// The time for what it waits for is over.
void PlanWait::on_late() {
    if (place_.is_waiting()) {
        fail(Blame::node, no_place_became_free(basics_.config, places_, limits_.words));
    } else if (setup_wait_) {
        const bool is_known = addresses_.of(setup_wait_->first_node()).has_value();
        take_step(setup_wait_->on_late(times(), is_known));
    }
}

// ---- at the first node

/// It holds nothing meanwhile, and no other node knows of it (stage_places.h).
void PlanWait::await_place(std::vector<std::string> names) {
    is_first_ = true;
    alarm_.set(announced_ + limits_.ends.work);
    if (places_.waiting() < kWatchedMax) {
        watch_.start(std::nullopt);
    }
    const bool may_wait = place_.wait(request_.uid, [this, names = std::move(names)] {
        if (!is_over_) {
            make_plan(names);
        }
    });
    if (!may_wait) {
        fail(Blame::node,
             "too many stages of yours wait here already; submit it again when some are done");
    }
}

void PlanWait::make_plan(std::vector<std::string> names) {
    alarm_.set(std::nullopt);
    planner_.make(request_, std::move(names), [this](Result<StagePlan> plan) {
        if (is_over_) {
            return;
        }
        if (!plan) {
            fail(plan.error().blame(), plan.error().sentence());
            return;
        }
        hooks_.on_plan(*plan);
        watch_.start(planner_.job());
    });
}

// ---- at another node

void PlanWait::await_setup(const std::string& first, std::size_t rank, std::size_t nodes) {
    setup_wait_.emplace(first, Rank{static_cast<Rank::rep>(rank)});
    const Instant until = basics_.loop.now() + setup_max(basics_.config, rank, nodes);
    alarm_.set(std::min(until, announced_ + limits_.time));
    watch_.look_once(kEarlyLook + kLookTurn * rank);
}

setup_wait::Times PlanWait::times() const {
    return {.now = basics_.loop.now(),
            .announced = announced_,
            .announce_timeout = basics_.config.announce_timeout,
            .limits = limits_};
}

void PlanWait::take_step(setup_wait::Step step) {
    std::visit([this](auto& one) { take(one); }, step);
}

void PlanWait::take(setup_wait::WaitUntil& step) {
    alarm_.set(step.until);
}

/// Slurm may have left out the first node's prolog (requeued_request.h).
AskMessage PlanWait::question() const {
    AskMessage question{request_.key};
    if (may_lack_prolog(request_.key) && fits(request_)) {
        question.request = request_;
    }
    return question;
}

void PlanWait::take(setup_wait::AskFirstNode& step) {
    alarm_.set(step.until);
    probe_.ask(question(),
               setup_wait_->first_node(),
               [this](RootProbe::Said said, const std::string& why) {
                   if (!is_over_) {
                       take_step(setup_wait_->on_answer(times(), said, why));
                   }
               });
}

/// The first node would run the job as if nothing were wrong: it has no plugin to stop it.
void PlanWait::take(setup_wait::CancelJob& step) {
    const StageKey& key = request_.key;
    basics_.log.warn(
        "a job is cancelled: its first node can't stop it; see plugstack.conf there",
        {{"job", key.job_id}, {"why", step.reason}});
    const bool is_step = key.step_id != kWholeJob;
    asker_.ask(CancelOrder{.job_id = key.job_id,
                           .step_id = is_step ? std::optional{key.step_id} : std::nullopt,
                           .restart = key.restart,
                           .sentence = "stagecast: " + step.reason,
                           .comments = basics_.config.admin_comment},
               [this](const Result<SlurmAnswer>& answer) {
                   if (!answer) {
                       basics_.log.warn(
                           "cancelling failed; do it by hand",
                           {{"job", request_.key.job_id}, {"why", answer.error().sentence()}});
                   }
                   if (!is_over_) {
                       hooks_.on_fail(Blame::node, kUnannounced, setup_wait_->first_node());
                   }
               });
}

void PlanWait::take(setup_wait::Fail& step) {
    hooks_.on_fail(
        Blame::node,
        std::move(step.sentence),
        step.is_first_nodes ? std::optional{setup_wait_->first_node()} : std::nullopt);
}

}  // namespace stage
