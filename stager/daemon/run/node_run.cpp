#include "stager/daemon/run/node_run.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/daemon/jobs/job_directory.h"
#include "stager/daemon/jobs/job_roots.h"
#include "stager/daemon/jobs/verdict_store.h"
#include "stager/daemon/run/hosted_wire_up.h"
#include "stager/daemon/run/tree_wire_up.h"
#include "stager/daemon/run/worker_order.h"
#include "stager/link/cluster_name.h"
#include "stager/messages/untrusted_fd.h"
#include "transport/base/log.h"

#include <cerrno>
#include <utility>

namespace stage {
namespace {

/// From ABORT until SIGKILL: the worker removes its temporary files in that time.
constexpr Duration kAbortMax = std::chrono::seconds{3};
/// From RELEASE until SIGKILL.
constexpr Duration kReleaseMax = std::chrono::seconds{10};
/// A worker learns of its host's crash from its socket, the daemon later from the spawner.
constexpr Duration kHostNewsMax = std::chrono::milliseconds{500};

}  // namespace

NodeRun::NodeRun(const Basics& basics,
                 const Resources& resources,
                 NodeRunOwner& owner,
                 RunOrder order)
    : basics_{basics},
      resources_{resources},
      owner_{owner},
      order_{std::move(order)},
      cache_link_{resources.cache,
                  order_.passage ? order_.passage->user.uid : order_.request.uid,
                  [this](const ToWorker& message, int file) {
                      if (wire_up_) {
                          wire_up_->watch_connect(true);
                      }
                      if (worker_) {
                          worker_->send(message, file);
                      }
                  }},
      outcome_alarm_{basics.loop, [this] { report_outcome(); }} {
}

void NodeRun::begin(int root) {
    make_directory(root);
    if (!failed_) {
        open_endpoints();
    }
    if (failed_ || waits_for_port_) {
        return;
    }
    start_wire_up();
}

void NodeRun::start_wire_up() {
    WireUpOwner& owner = *this;
    if (order_.plan.cards_follow) {
        wire_up_ = std::make_unique<TreeWireUp>(owner);
    } else if (order_.request.uid == 0) {
        fail(Blame::internal, "the plan of a push requires PMIx, whose host can't run as root");
        return;
    } else {
        wire_up_ =
            std::make_unique<HostedWireUp>(basics_.loop, resources_.hosts, owner, order_);
    }
    wire_up_->begin();
}

void NodeRun::on_prepared(std::vector<std::string> environment) {
    if (phase_ == Phase::preparing && !failed_) {
        start_worker(std::move(environment));
    }
}

void NodeRun::on_part(Collective kind, std::uint32_t sequence, std::vector<std::byte> bytes) {
    part_left_ = true;
    owner_.on_wire_up_part(kind, sequence, std::move(bytes));
}

void NodeRun::on_word(const ToWorker& message) {
    if (worker_) {
        worker_->send(message);
    }
}

void NodeRun::on_wired() {
    phase_ = phase_ == Phase::wiring ? Phase::wired : phase_;
    has_cards_ = true;
    drop_wire_up();
}

void NodeRun::on_unavailable(const std::string& why) {
    drop_wire_up();
    if (phase_ != Phase::over && !failed_) {
        owner_.on_wire_up_lost(why);
    }
}

/// Replaces a PMIx host that hangs: users of the node do not know where the second one listens.
void NodeRun::on_lost(const std::string& why) {
    drop_wire_up();
    if (phase_ != Phase::preparing && phase_ != Phase::wiring) {
        return;
    }
    ++basics_.counters.hosts_replaced;
    basics_.log.warn("a PMIx host was lost; do other users connect to its loopback port?",
                     {{"job", order_.request.key.job_id},
                      {"why", why},
                      {"replaced_total", basics_.counters.hosts_replaced}});
    held_outcome_.reset();
    outcome_alarm_.set(std::nullopt);
    if (wire_up_replaced_ || part_left_) {
        owner_.on_wire_up_lost("its PMIx host was lost (" + why + ")");
        return;
    }
    wire_up_replaced_ = true;
    restart_worker();
}

void NodeRun::begin_epoch(const Epoch& epoch) {
    if (epoch.port != order_.plan.group_port) {
        order_.plan.group_port = epoch.port;
        waits_for_port_ = false;
        endpoints_.clear();  // (A worker that ends now still has the port.)
    }
    if (phase_ == Phase::over || outcome_seen_) {
        return;
    }
    order_.plan.cards_follow = epoch.cards_follow;
    part_left_ = false;
    drop_wire_up();
    restart_worker();
}

/// The old worker ends before the new one starts: both would write the same temporary files.
void NodeRun::restart_worker() {
    held_outcome_.reset();
    outcome_alarm_.set(std::nullopt);
    if (worker_) {
        if (!std::exchange(restarting_, true)) {
            worker_->send(WorkerAbort{Blame::node, "the wire-up starts again"});
            worker_->kill_after(kAbortMax);
        }
        return;
    }
    restarting_ = false;
    has_cards_ = false;
    phase_ = Phase::preparing;
    if (endpoints_.empty()) {
        open_endpoints();
    }
    if (failed_ || waits_for_port_) {
        return;
    }
    start_wire_up();
}

void NodeRun::drop_wire_up() {
    if (wire_up_) {
        // Not within its own callback.
        wire_up_->close();
        basics_.loop.defer([gone = std::shared_ptr<WireUp>{std::move(wire_up_)}] {});
        wire_up_.reset();
    }
    notify_if_gone();
}

void NodeRun::start_worker(std::vector<std::string> environment) {
    WorkerOrder order{
        .program = worker_program(basics_.config, order_.request, std::move(environment)),
        .sockets = descriptors_of(endpoints_, order_.passage),
        .stage = process_group_name(order_.request.key),
        .closer = resources_.closers.of(order_.passage ? order_.passage->user.uid
                                                       : order_.request.uid)};
    if (order_.passage) {
        order.program.user = order_.passage->user;
    }
    auto worker = WorkerProcess::start(
        basics_,
        order,
        {.on_started = [this] { owner_.on_started(); },
         .on_message =
             [this](FromWorker message, UntrustedFd file) {
                 if (wire_up_ && std::holds_alternative<WorkerAsk>(message)) {
                     wire_up_->watch_connect(false);  // The cache's answer turns it on again.
                 }
                 cache_link_.on_message(message, std::move(file));
                 on_worker_message(std::move(message));
             },
         .on_ended = [this](const std::string& why) { on_worker_ended(why); }});
    cache_link_.begin_anew();
    const std::vector<Endpoint> handed_over = std::exchange(endpoints_, {});
    if (!worker) {
        fail(Blame::node, worker.error().sentence());
        return;
    }
    worker_ = std::move(*worker);
    listens_ = false;
    phase_ = Phase::wiring;
    worker_->send(worker_setup(
        basics_.config,
        order_,
        {.directory = directory_, .endpoints = handed_over, .now = basics_.loop.now()}));
}

void NodeRun::hold_outcome(WorkerOutcome outcome) {
    if (restarting_ || outcome_seen_ || held_outcome_) {
        return;
    }
    const bool may_be_wire_up = outcome.state == VerdictState::failed &&
                                phase_ == Phase::wiring && wire_up_ && wire_up_->can_be_lost();
    held_outcome_ = std::move(outcome);
    if (may_be_wire_up) {
        outcome_alarm_.set(basics_.loop.now() + kHostNewsMax);
    } else {
        report_outcome();
    }
}

void NodeRun::report_outcome() {
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
        return;  // It gave a reason; soon it is known whether its host had crashed.
    }
    fail(Blame::node, "stagecast-worker ended before its work was done: " + why);
    drop_wire_up();
}

void NodeRun::on_worker_message(FromWorker message) {
    const Status noted = is_of_request() ? outside_.on_message(message) : Status{};
    if (!noted) {
        fail(noted.error().blame(), noted.error().sentence());
    }
    if (const auto* progress = std::get_if<WorkerProgress>(&message)) {
        progress_ = *progress;
        if (!restarting_ && !std::exchange(listens_, true)) {
            owner_.on_listening();
        }
    } else if (auto* card = std::get_if<WorkerCard>(&message)) {
        if (wire_up_) {
            wire_up_->on_card(std::move(card->card));
        }
    } else if (auto* outcome = std::get_if<WorkerOutcome>(&message)) {
        hold_outcome(std::move(*outcome));
    } else if (const auto* dropped = std::get_if<WorkerDropped>(&message)) {
        owner_.on_dropped(*dropped);
    } else if (auto* released = std::get_if<WorkerReleased>(&message)) {
        statistics_ = std::move(released->statistics);
    }
}

void NodeRun::wire_up_result(Collective kind,
                             std::uint32_t sequence,
                             std::vector<std::byte> bytes) {
    if (wire_up_) {
        wire_up_->result(kind, sequence, std::move(bytes));
        has_cards_ = has_cards_ || kind == Collective::cards;
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
    if (wire_up_) {
        wire_up_->abort();  // Second, so that the worker knows why PMIx fails.
    }
    if (!worker_) {
        free_port();
        drop_wire_up();
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
        free_port();
        drop_wire_up();
    }
}

void NodeRun::free_port() {
    endpoints_.clear();
    port_.reset();
}

void NodeRun::drop_worker() {
    if (worker_) {
        // Not within its own callback.
        basics_.loop.defer([worker = std::shared_ptr<WorkerProcess>{std::move(worker_)}] {});
        worker_.reset();
        free_port();
    }
}

void NodeRun::fail(Blame blame, const std::string& sentence) {
    if (phase_ != Phase::over && !outcome_seen_ && !std::exchange(failed_, true)) {
        owner_.on_run_failed(blame, sentence);
    }
}

void NodeRun::notify_if_gone() {
    if (phase_ != Phase::over || !is_gone() || std::exchange(notified_gone_, true)) {
        return;
    }
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            owner_.on_gone();
        }
    });
}

/// Otherwise the worker is another user's, who has no list of files to be removed here.
bool NodeRun::is_of_request() const {
    return !order_.passage || order_.passage->user.uid == order_.request.uid;
}

void NodeRun::make_directory(int root) {
    const StageKey& key = order_.request.key;
    const Owner owner{order_.request.uid, order_.request.gid};
    Status made = check_users_way(basics_.config.stage_root);
    made = made ? make_job_directory(root, key.job_id, owner) : made;
    if (made && key.step_id != kWholeJob) {
        made = make_step_directory(root, key.job_id, key.step_id, owner);
    }
    made = made && is_of_request() ? outside_.begin(root, order_.request) : made;
    if (!made) {
        fail(made.error().blame(), made.error().sentence());
    }
    directory_ = job_directory(basics_.config, resources_.verdicts, key.job_id);
}

bool NodeRun::awaits_others() const {
    if (progress_.phase == WorkerPhase::wire_up) {
        return part_left_;
    }
    return progress_.bytes_total > 0 && progress_.bytes >= progress_.bytes_total;
}

/// By NodeAddr, as Slurm gives it.
Neighbours NodeRun::neighbours() const {
    Neighbours known;
    for (std::size_t rank = 0; rank < order_.plan.nodes.size(); ++rank) {
        const auto address = Address::parse(order_.plan.nodes[rank].address, 0);
        if (address && rank == order_.self.index()) {
            known.own = *address;
        } else if (address) {
            known.others.push_back(*address);
        }
    }
    return known;
}

void NodeRun::open_endpoints() {
    if (order_.plan.nodes.size() == 1) {
        return;  // Nothing is sent, so that no interface is needed either.
    }
    const auto group = Address::parse(order_.plan.group_address, order_.plan.group_port);
    if (!group) {
        fail(Blame::internal, group.error().sentence());
        return;
    }
    const PortSupply ports = borrow_port();
    auto endpoints = stage::open_endpoints(
        basics_.config,
        ports,
        {.transport = order_.plan.relays ? Transport::tcp : order_.plan.transport,
         .group = {.first = *group,
                   .flows = order_.plan.policies.flows,
                   .rails = order_.plan.rails},
         .neighbours = neighbours(),
         .is_source = order_.self == Rank{0},
         .is_leg = is_of_cluster(order_.plan.nodes.front().name)});
    if (!endpoints && endpoints.error().cause() == EADDRINUSE) {
        waits_for_port_ = true;
        basics_.loop.defer(
            [this, why = endpoints.error().sentence(), alive = std::weak_ptr<bool>{alive_}] {
                if (!alive.expired()) {
                    owner_.on_port_taken(why);
                }
            });
        return;
    }
    if (!endpoints) {
        fail(endpoints.error().blame(), endpoints.error().sentence());
        return;
    }
    endpoints_ = *std::move(endpoints);
    port_beyond_ = port_beyond_range(basics_.config, endpoints_);
    if (port_beyond_) {
        basics_.log.warn(
            "other programs have the TCP ports of DataPortRange ('ss -ltnp' shows which), so a "
            "worker listens on another port, which a firewall may block",
            {{"job", order_.request.key.job_id}, {"port", std::uint64_t{*port_beyond_}}});
    }
}

PortSupply NodeRun::borrow_port() {
    free_port();
    if (resources_.ports.has_taken()) {  // Their programs may have ended since.
        resources_.ports.hold(basics_.config.data_port_range);
    }
    if (order_.has_held_port) {
        port_ = resources_.ports.lend();
    }
    return {.lent = port_ ? std::optional{port_->port()} : std::nullopt,
            .open_to_all = resources_.ports.open_to_all(basics_.config.data_port_range),
            .is_share_used = !order_.has_held_port && resources_.ports.held() > 0};
}

}  // namespace stage
