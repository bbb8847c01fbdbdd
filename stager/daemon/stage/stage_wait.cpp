// What does a stage wait for, how long, and what if it never comes? The part of Stage that
// does.
#include "stager/daemon/base/loop.h"
#include "stager/daemon/stage/stage.h"
#include "stager/daemon/stage/stage_places.h"
#include "stager/slurm/host_list.h"
#include "stager/spec/amount.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// Nodes of these ranks cancel a job whose first node does not know of it; more need not.
constexpr std::size_t kCancellingRanks = 3;
/// Without a SETUP, until a node asks slurmctld whether the job is still wanted,
constexpr Duration kEarlyLook = std::chrono::seconds{3};
/// each later than the one before it.
constexpr Duration kLookTurn = std::chrono::milliseconds{5};
/// From a failed verdict until a job that waits for a prolog even then is cancelled,
constexpr Duration kBeginMax = std::chrono::seconds{5};
/// and until slurmctld is asked again that did not answer.
constexpr Duration kAskAgain = std::chrono::seconds{30};
/// Stages in the queue for which slurmctld is asked whether the job still runs.
constexpr std::size_t kWatchedMax = 32;
/// AnnounceTimeouts until a first node whose stage is queued is asked again.
constexpr int kQueuedFactor = 3;
constexpr const char* kUnannounced =
    "stagecast.so has not announced the job; is it in plugstack.conf there, and can it be "
    "loaded?";

std::string progress_of(const WorkerProgress& progress) {
    if (progress.phase == WorkerPhase::wire_up) {
        return "the nodes were not wired up yet";
    }
    return amount_text(std::min(progress.bytes, progress.bytes_total)) + " of " +
           amount_text(progress.bytes_total) + " were here";
}

}  // namespace

void Stage::await_plan() {
    const Config& config = services_.config;
    if (is_push()) {
        // The plan is what announced it: it comes at once.
        wait_alarm_.set(services_.loop.now() + config.connect_timeout);
        return;
    }
    if (!config.enabled) {
        fail(Blame::user, "staging is switched off here (Enabled=no in stagecast.conf)");
        return;
    }
    auto names = expand_host_list(request_->node_list);
    const auto rank = names ? position_of(*names, request_->node_name) : std::nullopt;
    if (!rank) {
        fail(Blame::internal,
             names ? "this node is not in the job's node list" : names.error().sentence());
        return;
    }
    if (*rank != 0) {
        await_setup(*rank, names->size());
    } else {
        wait_for_place(std::move(*names));
    }
}

/// Another node than the first.
void Stage::await_setup(std::size_t rank, std::size_t nodes) {
    const Instant until = services_.loop.now() + setup_max(services_.config, rank, nodes);
    wait_alarm_.set(std::min(until, *times_.announced + limits().time));
    watch_.look_once(kEarlyLook + kLookTurn * rank);
}

/// At the first node, which holds nothing meanwhile and has told no other (stage_places.h).
void Stage::wait_for_place(std::vector<std::string> names) {
    is_first_ = true;
    wait_alarm_.set(*times_.announced + limits().ends.work);
    if (services_.places.waiting() < kWatchedMax) {
        watch_.start(std::nullopt);
    }
    services_.places.set_limit(services_.config.max_stages_per_node);
    place_ = services_.places.wait(
        request_->uid, [this, alive = std::weak_ptr<bool>{alive_}, names = std::move(names)] {
            services_.loop.defer([this, alive, names] {
                if (!alive.expired() && state_ == StageState::announced) {
                    on_place(names);
                }
            });
        });
    if (!place_) {
        fail(Blame::node,
             "too many stages of yours wait here already; submit it again when some are done");
    }
}

void Stage::on_place(std::vector<std::string> names) {
    has_place_ = true;
    wait_alarm_.set(std::nullopt);
    planner_.make(*request_, std::move(names), [this](Result<StagePlan> plan) {
        if (state_ != StageState::announced) {
            return;
        }
        if (!plan) {
            fail(plan.error().blame(), plan.error().sentence());
            return;
        }
        make_group(*plan, Rank{0}, *times_.announced + limits().ends.verdict);
        follow_group();  // The others begin now, however long the worker here takes.
        apply(StageEvent::plan);
        watch_.start(planner_.job());
    });
}

void Stage::leave_place() {
    has_place_ = false;
    if (place_) {
        services_.places.set_limit(services_.config.max_stages_per_node);
        services_.places.leave(*std::exchange(place_, std::nullopt));
    }
}

bool Stage::is_queued() const {
    return state_ == StageState::announced && ((place_ && !has_place_) || is_first_queued_);
}

std::string Stage::no_place() const {
    const StagePlaces& places = services_.places;
    const std::string limit = std::to_string(services_.config.max_stages_per_node);
    if (is_queued()) {
        return "it is already staging files for " + std::to_string(places.taken()) +
               " other jobs or steps (MaxStagesPerNode=" + limit +
               ", of which one user has half at most), and no place became free within " +
               limits().words + "; submit it again";
    }
    return "it is already staging files for " + std::to_string(places.taken_by_members()) +
           " other jobs or steps that began on other nodes (" +
           std::to_string(StagePlaces::kMemberFactor) + " times MaxStagesPerNode=" + limit +
           ", of which one user has half at most); submit it again";
}

/// The time for what this state waits for is over.
void Stage::on_late() {
    const Config& config = services_.config;
    if (!is_open()) {
        return;
    }
    if (place_ && is_queued()) {
        fail(Blame::node, no_place());
    } else if (state_ == StageState::announced && !is_push()) {
        ask_first_node();
    } else if (state_ == StageState::held && may_announce_itself()) {
        announce_itself();
    } else if (state_ == StageState::held) {
        fail(Blame::node,
             kUnannounced + std::string{" (AnnounceTimeout="} +
                 seconds_text(config.announce_timeout) + ")");
    } else if (run_ && !is_alone() && run_->awaits_others() && !group_->is_finished()) {
        on_others_late();
    } else {
        // Of less time than the site allows the user has had the choice.
        fail(limits().blame,
             "staging was not done within " + limits().words + ": " +
                 (run_ ? progress_of(run_->progress()) : ""));
    }
}

/// Those that are late say so themselves, in better words. A moment later they are named here.
void Stage::on_others_late() {
    if (!std::exchange(others_are_late_, true)) {
        wait_alarm_.set(services_.loop.now() +
                        (limits().ends.verdict - limits().ends.work) / 2);
        return;
    }
    group_->name_awaited(services_.loop.now(),
                         limits().blame,
                         "this node did not do its part within " + limits().words);
    follow_group();
}

/// No SETUP came. The first node's daemon may know why.
void Stage::ask_first_node() {
    const auto names = expand_host_list(request_->node_list);
    if (is_first_queued_ && services_.loop.now() >= *times_.announced + limits().ends.work) {
        blamed_node_ = names->front();
        fail(Blame::node,
             "no place for this stage became free there (MaxStagesPerNode) within " +
                 limits().words + "; submit it again");
        return;
    }
    if (std::exchange(has_asked_, true) || !names) {
        fail(Blame::node, "no word from the job's first node within " + limits().words);
        return;
    }
    const auto rank = position_of(*names, request_->node_name);
    if (rank.value_or(kCancellingRanks) >= kCancellingRanks &&
        !services_.addresses.contains(names->front())) {
        // Slurm would have to be asked, by thousands; the few before this one do.
        fail(Blame::node, "no word from node " + names->front() + ", the job's first");
        return;
    }
    // What is left must do: the answer, or none.
    wait_alarm_.set(*times_.announced + limits().ends.verdict);
    const std::string first = names->front();
    inquiry_.ask(key_, first, [this, first](RootProbe::Said said, const std::string& why) {
        if (state_ == StageState::announced) {
            on_first_node(first, said, why);
        }
    });
}

void Stage::on_first_node(const std::string& first,
                          RootProbe::Said said,
                          const std::string& why) {
    const bool was_queued = std::exchange(is_first_queued_, said == RootProbe::Said::queued);
    const bool may_still_come = was_queued && said == RootProbe::Said::announced;
    if (is_first_queued_ || may_still_come) {
        // It is asked again, lest it has died; the SETUP comes unasked.
        has_asked_ = false;
        const Duration pause = kQueuedFactor * services_.config.announce_timeout;
        wait_alarm_.set(
            std::min(services_.loop.now() + pause, *times_.announced + limits().ends.work));
    } else if (said == RootProbe::Said::unannounced) {
        blamed_node_ = first;
        cancel_job("node " + first + ": " + kUnannounced);
    } else if (said == RootProbe::Said::announced) {
        fail(Blame::node,
             "stagecastd of node " + first +
                 " knows of the job and has not reached this node; its log says why, or Port "
                 "does not let it through to here");
    } else {
        fail(Blame::node, "no word from node " + first + ", the job's first (" + why + ")");
    }
}

/// The first node would run the job as if nothing were wrong: it has no plugin to stop it.
void Stage::cancel_job(const std::string& sentence) {
    const auto names = expand_host_list(request_->node_list);
    const auto rank = names ? position_of(*names, request_->node_name) : std::nullopt;
    if (!rank || *rank >= kCancellingRanks) {
        fail(Blame::node, kUnannounced);
        return;
    }
    services_.log.warn(
        "a job is cancelled: its first node can't stop it; see plugstack.conf there",
        {{"job", key_.job_id}, {"why", sentence}});
    const bool is_step = key_.step_id != kWholeJob;
    canceller_.ask(CancelOrder{.job_id = key_.job_id,
                               .step_id = is_step ? std::optional{key_.step_id} : std::nullopt,
                               .restart = key_.restart,
                               .sentence = "stagecast: " + sentence},
                   [this](const Result<SlurmAnswer>& answer) {
                       if (!answer) {
                           services_.log.warn(
                               "cancelling failed; do it by hand",
                               {{"job", key_.job_id}, {"why", answer.error().sentence()}});
                       }
                       if (state_ == StageState::announced) {
                           fail(Blame::node, kUnannounced);
                       }
                   });
}

/// A job whose staging has failed is ended by its first task, which Slurm starts when all
/// nodes' prologs are done. Where slurmctld gave up to start one it never does.
void Stage::await_begin() {
    awaits_begin_ = true;
    // The prolog of a node that the first one can't reach waits as long as it must.
    const std::size_t nodes = plan_ ? plan_->nodes.size() : 1;
    const Duration longest = setup_max(services_.config, nodes - 1, nodes);
    begin_alarm_.set(std::max(services_.loop.now(), *times_.announced + longest) + kBeginMax);
}

void Stage::cancel_unbegun() {
    canceller_.ask(CancelOrder{.job_id = key_.job_id,
                               .step_id = std::nullopt,
                               .restart = key_.restart,
                               .sentence = "stagecast: " + verdict_->sentence,
                               .only_in_prolog = true},
                   [this](const Result<SlurmAnswer>& answer) {
                       if (!answer && awaits_begin_) {
                           begin_alarm_.set(services_.loop.now() + kAskAgain);
                           return;
                       }
                       const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
                       if (job != nullptr && job->state == SlurmJobState::ended) {
                           services_.log.warn(
                               "a failed job is cancelled: Slurm awaits a prolog that never "
                               "came",
                               {{"job", key_.job_id}, {"why", verdict_->sentence}});
                       }
                       awaits_begin_ = false;
                       tell_change();
                   });
}

StageLimits Stage::limits() const {
    return stage_limits(services_.config, key_, wishes_);
}

}  // namespace stage
