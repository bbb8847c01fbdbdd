#include "stager/daemon/node_run.h"

#include "pmix/business_card.h"
#include "stager/daemon/children.h"
#include "stager/daemon/counters.h"
#include "stager/daemon/host_pool.h"
#include "stager/daemon/loop.h"
#include "stager/daemon/node_cache.h"
#include "stager/daemon/worker_order.h"
#include "stager/worker/stranger_fd.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// From ABORT until SIGKILL: the worker removes its temporary files.
constexpr Duration kAbortMax = std::chrono::seconds{3};
/// From RELEASE until SIGKILL.
constexpr Duration kReleaseMax = std::chrono::seconds{10};
/// A worker learns of its host's death from its socket, we from the spawner.
constexpr Duration kHostNewsMax = std::chrono::milliseconds{500};

}  // namespace

NodeRun::NodeRun(Services& services, NodeRunOwner& owner, RunOrder order)
    : services_{services},
      owner_{owner},
      order_{std::move(order)},
      cache_link_{services.cache,
                  order_.request.uid,
                  [this](const ToWorker& told, int file) {
                      watch_connect(true);
                      if (worker_) {
                          worker_->send(told, file);
                      }
                  }},
      host_alarm_{services.loop, [this] { replace_host("it did not answer in time"); }},
      outcome_alarm_{services.loop, [this] { tell_outcome(); }} {
}

void NodeRun::begin(int root) {
    make_directory(root);
    if (!failed_) {
        open_sockets();
    }
    if (failed_ || waits_for_port_) {
        return;
    }
    if (order_.plan.cards_follow) {
        start_worker({});
    } else if (order_.request.uid == 0) {
        fail(Blame::internal,
             "the plan has root's workers meet by PMIx, whose host is a user's");
    } else {
        take_host();
    }
}

void NodeRun::take_host() {
    waits_for_host_ = true;
    services_.hosts.take(
        [this, alive = std::weak_ptr<bool>{alive_}](Result<HostPool::HostPointer> host) {
            if (!alive.expired()) {
                on_host(std::move(host));
            }
        });
}

void NodeRun::on_host(Result<HostPool::HostPointer> host) {
    waits_for_host_ = false;
    if (phase_ == Phase::over || failed_) {
        tell_if_gone();
        return;
    }
    if (order_.plan.cards_follow) {
        return;  // Too late; this one goes again.
    }
    if (!host) {
        owner_.on_wire_up_lost(host.error().sentence());
        return;
    }
    host_ = std::move(*host);
    host_->own([this](FromHost message) { on_host_message(std::move(message)); },
               [this](const std::string& why) { replace_host(why); });
    HostJob job;
    job.uid = order_.request.uid;
    job.gid = order_.request.gid;
    job.name_space = "stagecast." + process_group_name(order_.request.key);
    job.rank = order_.self;
    for (const StagePlan::Node& node : order_.plan.nodes) {
        job.nodes.push_back(node.name);
    }
    host_alarm_.set(services_.loop.now() + kHostEnvMax);
    host_->send(job);
}

void NodeRun::on_host_message(FromHost message) {
    if (auto* env = std::get_if<HostEnv>(&message)) {
        if (phase_ == Phase::preparing) {
            start_worker(std::move(env->variables));
            waits_for_connect_ = true;
            watch_connect(true);
        }
    } else if (std::holds_alternative<HostConnected>(message)) {
        watch_connect(false);
        waits_for_connect_ = false;
    } else if (auto* fence = std::get_if<HostFenceUp>(&message)) {
        part_left_ = true;
        owner_.on_fence_part(fence->sequence, std::move(fence->data));
    } else if (const auto* group = std::get_if<HostGroupUp>(&message)) {
        part_left_ = true;
        owner_.on_group_part(group->sequence);
    } else if (std::holds_alternative<HostFinalized>(message)) {
        phase_ = phase_ == Phase::wiring ? Phase::wired : phase_;
        drop_host();
    } else if (const auto* failed = std::get_if<HostFailed>(&message)) {
        replace_host(failed->sentence);
    }
}

/// Not while the worker waits for the node's cache, which may take as long as another reads.
void NodeRun::watch_connect(bool is_due) {
    if (waits_for_connect_) {
        host_alarm_.set(is_due ? std::optional{services_.loop.now() + kHostConnectMax}
                               : std::nullopt);
    }
}

/// A wedged host is replaced: nobody knows yet where the second one is.
void NodeRun::replace_host(const std::string& why) {
    drop_host();
    if (phase_ != Phase::preparing && phase_ != Phase::wiring) {
        return;
    }
    ++services_.counters.hosts_replaced;
    services_.log.warn("a PMIx host was lost; are strangers at its loopback port?",
                       {{"job", order_.request.key.job_id},
                        {"why", why},
                        {"replaced_total", services_.counters.hosts_replaced}});
    held_outcome_.reset();
    outcome_alarm_.set(std::nullopt);
    if (host_replaced_ || part_left_) {
        owner_.on_wire_up_lost("its PMIx host was lost (" + why + ")");
        return;
    }
    host_replaced_ = true;
    restart_worker();
}

void NodeRun::go_direct() {
    if (phase_ == Phase::over || outcome_seen_) {
        return;
    }
    order_.plan.cards_follow = true;
    part_left_ = false;
    drop_host();
    restart_worker();
}

/// The old one is gone before the new one comes: both would write the same temporary files.
void NodeRun::restart_worker() {
    held_outcome_.reset();
    outcome_alarm_.set(std::nullopt);
    if (worker_) {
        if (!std::exchange(restarting_, true)) {
            worker_->send(WorkerAbort{Blame::node, "the wire-up begins anew"});
            worker_->kill_after(kAbortMax);
        }
        return;
    }
    restarting_ = false;
    phase_ = Phase::preparing;
    if (sockets_.lanes.empty()) {
        open_sockets();
    }
    if (failed_ || waits_for_port_) {
        return;
    }
    if (order_.plan.cards_follow) {
        start_worker({});
    } else if (!waits_for_host_) {
        take_host();
    }
}

void NodeRun::drop_host() {
    waits_for_connect_ = false;
    host_alarm_.set(std::nullopt);
    if (host_) {
        // Not from within its own callback.
        host_->own(nullptr, nullptr);
        services_.loop.defer([host = std::shared_ptr<PmixHost>{std::move(host_)}] {});
        host_.reset();
    }
    tell_if_gone();
}

void NodeRun::start_worker(std::vector<std::string> environment) {
    const WorkerOrder order{
        .program = worker_program(services_.config, order_.request, std::move(environment)),
        .sockets = worker_sockets(sockets_),
        .stage = process_group_name(order_.request.key),
        .closer = services_.closers.of(order_.request.uid)};
    auto worker = WorkerProcess::start(
        services_.loop,
        services_.children,
        services_.counters,
        services_.log,
        order,
        {.on_started = [this] { owner_.on_started(); },
         .on_message =
             [this](FromWorker message, StrangerFd file) {
                 if (std::holds_alternative<WorkerAsk>(message)) {
                     watch_connect(false);  // The answer watches again.
                 }
                 cache_link_.on_message(message, std::move(file));
                 on_worker_message(std::move(message));
             },
         .on_ended = [this](const std::string& why) { on_worker_ended(why); }});
    cache_link_.begin_anew();
    sockets_.lanes.clear();  // The worker alone listens.
    sockets_.unicast.reset();
    sockets_.rails.clear();
    if (!worker) {
        fail(Blame::node, worker.error().sentence());
        return;
    }
    worker_ = std::move(*worker);
    listens_ = false;
    phase_ = Phase::wiring;
    worker_->send(worker_setup(services_.config,
                               order_,
                               {.directory = directory_,
                                .interfaces = sockets_.interfaces,
                                .now = services_.loop.now()}));
}

void NodeRun::hold_outcome(WorkerOutcome outcome) {
    if (restarting_ || outcome_seen_ || held_outcome_) {
        return;
    }
    const bool may_be_host =
        outcome.state == VerdictState::failed && phase_ == Phase::wiring && host_;
    held_outcome_ = std::move(outcome);
    if (may_be_host) {
        outcome_alarm_.set(services_.loop.now() + kHostNewsMax);
    } else {
        tell_outcome();
    }
}

void NodeRun::tell_outcome() {
    if (held_outcome_ && !std::exchange(outcome_seen_, true)) {
        WorkerOutcome outcome = std::move(*held_outcome_);
        held_outcome_.reset();
        statistics_ = outcome.statistics;
        owner_.on_outcome(std::move(outcome));
    }
}

void NodeRun::on_worker_ended(const std::string& why) {
    drop_worker();
    cache_link_.on_worker_ended();
    if (restarting_ && phase_ != Phase::over) {
        restart_worker();
        return;
    }
    if (held_outcome_ && phase_ != Phase::over) {
        return;  // It said why; a moment, and we know whether it was its host.
    }
    fail(Blame::node, "stagecast-worker ended before its work: " + why);
    drop_host();
}

void NodeRun::on_worker_message(FromWorker message) {
    if (const Status noted = outside_.on_message(message); !noted) {
        fail(noted.error().blame(), noted.error().sentence());
    }
    if (const auto* progress = std::get_if<WorkerProgress>(&message)) {
        progress_ = *progress;
        if (!restarting_ && !std::exchange(listens_, true)) {
            owner_.on_listening();
        }
    } else if (auto* card = std::get_if<WorkerCard>(&message)) {
        if (order_.plan.cards_follow && !std::exchange(part_left_, true)) {
            owner_.on_card(std::move(card->card));
        }
    } else if (auto* outcome = std::get_if<WorkerOutcome>(&message)) {
        hold_outcome(std::move(*outcome));
    } else if (auto* released = std::get_if<WorkerReleased>(&message)) {
        statistics_ = std::move(released->statistics);
    }
}

void NodeRun::fence_result(std::uint32_t sequence, std::vector<std::byte> bytes) {
    if (host_) {
        host_->send(HostFenceDown{sequence, std::move(bytes)});
    }
}

void NodeRun::group_result(std::uint32_t sequence, std::uint64_t context_id) {
    if (host_) {
        host_->send(HostGroupDown{sequence, context_id});
    }
}

void NodeRun::cards(std::vector<std::byte> table) {
    if (worker_) {
        worker_->send(WorkerCards{std::move(table)});
    }
}

void NodeRun::all_listen() {
    if (worker_ && !restarting_) {
        worker_->send(WorkerListening{});
    }
}

void NodeRun::abort(Blame blame, const std::string& sentence) {
    phase_ = Phase::over;
    if (worker_ && !std::exchange(aborted_, true)) {
        worker_->send(WorkerAbort{blame, sentence});
        worker_->kill_after(kAbortMax);
    }
    if (host_) {
        host_->send(HostAbort{});  // Second: the worker is to know why PMIx fails.
    }
    if (!worker_) {
        drop_host();
    }
}

void NodeRun::release() {
    if (phase_ == Phase::over) {
        return;
    }
    phase_ = Phase::over;
    if (worker_) {
        worker_->send(WorkerRelease{});
        worker_->kill_after(kReleaseMax);
    } else {
        drop_host();
    }
}

void NodeRun::drop_worker() {
    if (worker_) {
        // Not from within its own callback.
        services_.loop.defer([worker = std::shared_ptr<WorkerProcess>{std::move(worker_)}] {});
        worker_.reset();
    }
}

void NodeRun::fail(Blame blame, const std::string& sentence) {
    if (phase_ != Phase::over && !outcome_seen_ && !std::exchange(failed_, true)) {
        owner_.on_run_failed(blame, sentence);
    }
}

void NodeRun::tell_if_gone() {
    if (phase_ != Phase::over || !is_gone() || std::exchange(told_gone_, true)) {
        return;
    }
    services_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            owner_.on_gone();
        }
    });
}

}  // namespace stage
