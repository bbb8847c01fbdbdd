#include "stager/daemon/push/local_preflight.h"

#include "stager/control/push_key.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/worker_order.h"
#include "stager/messages/untrusted_fd.h"
#include "transport/base/log.h"

#include <utility>

namespace stage {
namespace {

WorkerSetup setup_of(const Config& config, const PreflightOrder& order) {
    WorkerSetup setup;
    setup.key = preflight_key();
    setup.nodes = {"source", "target"};
    setup.source = Rank{0};
    setup.rank = Rank{order.is_source ? Rank::rep{0} : Rank::rep{1}};
    setup.specs = order.specs;
    setup.work_dir = std::string{"/"};
    setup.stage_dir = config.stage_root;
    allow(config, setup);
    if (order.is_source) {
        setup.dest_roots = {"/"};  // The destination nodes check their own roots.
    }
    setup.purpose = order.compares ? WorkerPurpose::compare : WorkerPurpose::look;
    setup.manifest = order.manifest;
    if (order.compares) {
        setup.max_bytes = 0;  // A comparison has no limit.
    } else {
        setup.stage_timeout =
            std::chrono::duration_cast<std::chrono::milliseconds>(config.stage_timeout);
    }
    return setup;
}

}  // namespace

LocalPreflight::LocalPreflight(const Basics& basics,
                               UserClosers& closers,
                               const PreflightOrder& order,
                               OnDone on_done)
    : on_done_{std::move(on_done)},
      loop_{basics.loop},
      limit_{basics.loop, [this] {
                 finish(Error{Blame::node, "checking the disk took longer than StageTimeout"}
                            .remedy("check whether the file systems there respond"));
             }} {
    StageRequest request;
    request.uid = order.user.uid;
    WorkerOrder worker{.program = worker_program(basics.config, request, {}),
                       .stage = "push",
                       .closer = closers.of(request.uid)};
    worker.program.user = order.user;
    auto started = WorkerProcess::start(
        basics,
        worker,
        {.on_started = [] {},
         .on_message = [this](FromWorker message,
                              UntrustedFd /*file*/) { on_message(std::move(message)); },
         .on_ended =
             [this](const std::string& why) {
                 finish(Error{Blame::node,
                              "stagecast-worker ended before it had checked the disk: " + why});
             }});
    if (!started) {
        finish(started.error());
        return;
    }
    worker_ = std::move(*started);
    worker_->send(setup_of(basics.config, order));
    if (!order.compares || order.is_limited) {
        limit_.set(loop_.now() + basics.config.stage_timeout);
    }
}

void LocalPreflight::on_message(FromWorker message) {
    if (auto* look = std::get_if<WorkerLook>(&message)) {
        look_ = std::move(*look);
    } else if (auto* outcome = std::get_if<WorkerOutcome>(&message)) {
        if (outcome->state == VerdictState::failed) {
            finish(Error{outcome->blame, printable(outcome->sentence)});
        } else {
            finish(std::move(look_));
        }
    }
}

/// Calls on_done later, not within the worker's own callback.
void LocalPreflight::finish(Result<WorkerLook> result) {
    if (!on_done_) {
        return;
    }
    limit_.set(std::nullopt);
    loop_.defer([call = std::exchange(on_done_, nullptr),
                 result = std::move(result),
                 alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            call(result);
        }
    });
}

}  // namespace stage
