#include "pmix/host/host.h"

namespace stage::pmix_host {

void Host::on_message(Instant now, ToHost message) {
    if (over_) {
        return;
    }
    if (auto* job = std::get_if<HostJob>(&message)) {
        adopt(now, std::move(*job));
    } else if (auto* fence = std::get_if<HostFenceDown>(&message)) {
        answer(fence->sequence, Kind::fence, [&](Call call) {
            server_.complete_fence(call, std::move(fence->data));
        });
    } else if (const auto* group = std::get_if<HostGroupDown>(&message)) {
        answer(group->sequence, Kind::group, [&](Call call) {
            server_.complete_group(call, group->context_id);
        });
    } else if (std::holds_alternative<HostAbort>(message)) {
        abort();
    } else {
        over_ = true;
    }
}

void Host::adopt(Instant now, HostJob job) {
    if (job_) {
        fail({Blame::internal, "the PMIx host was given a second job"});
        return;
    }
    job_ = std::move(job);
    ask_at_ = now;
    if (const Status adopted = server_.adopt(*job_); !adopted) {
        fail(adopted.error().within("the PMIx host can't take the job"));
    }
}

void Host::registered(const Status& status) {
    if (!job_ || !status) {
        fail(status ? Error{Blame::internal, "PMIx registered another job"}
                    : status.error().within("PMIx refuses the job"));
        return;
    }
    Result<std::vector<std::string>> variables = server_.environment(*job_);
    if (!variables) {
        fail(variables.error());
        return;
    }
    send_(HostEnv{.variables = std::move(*variables)});
}

/// An answer that crossed an ABORT on its way finds no waiting call.
void Host::answer(std::uint32_t sequence, Kind kind, const std::function<void(Call)>& how) {
    const auto found = waiting_.find(sequence);
    if (aborted_) {
        return;
    }
    if (found == waiting_.end() || found->second.kind != kind) {
        fail({Blame::internal, "the daemon answered a collective that was not asked"});
        return;
    }
    const Call call = found->second.call;
    waiting_.erase(found);
    how(call);
}

void Host::abort() {
    aborted_ = true;
    for (const auto& [sequence, waiting] : waiting_) {
        server_.refuse(waiting.call);
    }
    waiting_.clear();
}

bool Host::take(Call call, Kind kind) {
    if (aborted_ || waiting_.size() >= kMaxCalls) {
        server_.refuse(call);
        return false;
    }
    last_ = next_++;
    waiting_.emplace(last_, Waiting{.call = call, .kind = kind});
    return true;
}

void Host::on_upcall(Instant now, Upcall upcall) {
    if (over_) {
        return;
    }
    if (const auto* outcome = std::get_if<Registered>(&upcall)) {
        registered(outcome->status);
    } else if (std::holds_alternative<ClientConnected>(upcall)) {
        send_(HostConnected{});
    } else if (std::holds_alternative<ClientFinalized>(upcall)) {
        send_(HostFinalized{});
    } else if (auto* fence = std::get_if<FenceAsked>(&upcall)) {
        if (take(fence->call, Kind::fence)) {
            send_(HostFenceUp{.sequence = last_, .data = std::move(fence->data)});
        }
    } else if (const auto* group = std::get_if<GroupAsked>(&upcall)) {
        if (take(group->call, Kind::group)) {
            send_(HostGroupUp{.sequence = last_});
        }
    } else {
        give_up_at_.reset();
        ask_at_ = now + kPulseEvery;
    }
}

void Host::on_time(Instant now) {
    if (over_) {
        return;
    }
    if (give_up_at_ && now >= *give_up_at_) {
        fail({Blame::node,
              "this node's PMIx server is stuck: a process of another user, or a broken one, "
              "holds "
              "its loopback listener"});
    } else if (ask_at_ && now >= *ask_at_) {
        ask_at_.reset();
        give_up_at_ = now + kPulseMax;
        server_.ask_pulse();
    }
}

std::optional<Instant> Host::deadline() const {
    return give_up_at_ ? give_up_at_ : ask_at_;
}

void Host::fail(const Error& error) {
    over_ = true;
    send_(HostFailed{.blame = error.blame(), .sentence = error.sentence()});
}

}  // namespace stage::pmix_host
