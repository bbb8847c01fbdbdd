#include "stager/daemon/run/hosted_wire_up.h"

#include "transport/base/codec.h"

#include <functional>
#include <utility>
#include <vector>

namespace stage {
namespace {

HostJob host_job(const RunOrder& order) {
    HostJob job;
    job.uid = order.request.uid;
    job.gid = order.request.gid;
    job.name_space = "stagecast." + process_group_name(order.request.key);
    job.rank = order.self;
    for (const StagePlan::Node& node : order.plan.nodes) {
        job.nodes.push_back(node.name);
    }
    return job;
}

}  // namespace

HostedWireUp::HostedWireUp(Loop& loop,
                           HostPool& hosts,
                           WireUpOwner& owner,
                           const RunOrder& order)
    : loop_{loop},
      hosts_{hosts},
      owner_{owner},
      job_{host_job(order)},
      alarm_{loop, [this] { lose("it did not respond in time"); }} {
}

void HostedWireUp::begin() {
    hosts_.take(
        [this, alive = std::weak_ptr<bool>{alive_}](Result<HostPool::HostPointer> host) {
            if (!alive.expired()) {
                on_host(std::move(host));
            }
        });
}

void HostedWireUp::on_host(Result<HostPool::HostPointer> host) {
    if (!host) {
        owner_.on_unavailable(host.error().sentence());
        return;
    }
    host_ = std::move(*host);
    host_->own([this](FromHost message) { on_message(std::move(message)); },
               [this](const std::string& why) { lose(why); });
    alarm_.set(loop_.now() + kHostEnvMax);
    send(job_);
}

void HostedWireUp::on_message(FromHost message) {
    if (auto* env = std::get_if<HostEnv>(&message)) {
        if (!std::exchange(has_environment_, true)) {
            waits_for_connect_ = true;
            watch_connect(true);
            std::erase_if(env->variables, std::not_fn(is_wire_up_variable));
            owner_.on_prepared(std::move(env->variables));
        }
    } else if (std::holds_alternative<HostConnected>(message)) {
        watch_connect(false);
        waits_for_connect_ = false;
    } else if (auto* fence = std::get_if<HostFenceUp>(&message)) {
        owner_.on_part(Collective::fence, fence->sequence, std::move(fence->data));
    } else if (const auto* group = std::get_if<HostGroupUp>(&message)) {
        owner_.on_part(Collective::group, group->sequence, {});
    } else if (std::holds_alternative<HostFinalized>(message)) {
        owner_.on_wired();
    } else if (const auto* failed = std::get_if<HostFailed>(&message)) {
        lose(failed->sentence);
    }
}

void HostedWireUp::result(Collective kind,
                          std::uint32_t sequence,
                          std::vector<std::byte> bytes) {
    if (kind == Collective::fence) {
        send(HostFenceDown{sequence, std::move(bytes)});
    } else if (kind == Collective::group) {
        send(HostGroupDown{sequence, ByteReader{bytes}.u64()});
    }
}

void HostedWireUp::watch_connect(bool is_due) {
    if (waits_for_connect_) {
        alarm_.set(is_due ? std::optional{loop_.now() + kHostConnectMax} : std::nullopt);
    }
}

void HostedWireUp::abort() {
    send(HostAbort{});
}

void HostedWireUp::close() {
    alive_.reset();
    waits_for_connect_ = false;
    alarm_.set(std::nullopt);
    if (host_) {
        host_->own(nullptr, nullptr);
    }
}

/// The host may have been lost, too, before this was closed.
void HostedWireUp::lose(const std::string& why) {
    if (alive_) {
        owner_.on_lost(why);
    }
}

void HostedWireUp::send(const ToHost& message) {
    if (host_) {
        host_->send(message);
    }
}

}  // namespace stage
