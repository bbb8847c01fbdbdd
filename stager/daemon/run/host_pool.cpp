#include "stager/daemon/run/host_pool.h"

#include "stager/daemon/base/loop.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

/// After a host that could not start, for instance because munged is down.
constexpr Duration kRetryAfter = std::chrono::seconds{5};
constexpr const char* kOpenToAll =
    "a PMIx host's listener can't be closed to this node's other users";
constexpr const char* kNoMunge = "with AuthKeyFile= there are no PMIx hosts: they need munge";

}  // namespace

HostPool::HostPool(
    Loop& loop, Children& children, const Logger& log, HostPlace place, std::size_t spares)
    : loop_{loop}, children_{children}, log_{log}, place_{std::move(place)}, spares_{spares} {
    if (!place_.has_munge) {
        refusal_ = kNoMunge;
    }
    refill();
}

HostPool::~HostPool() {
    loop_.cancel(retry_);
    for (const Starting& one : starting_) {
        loop_.cancel(one.timer);
    }
}

void HostPool::take(OnHost on_host) {
    waiting_.push_back(std::move(on_host));
    loop_.defer([this] { serve(); });
}

void HostPool::serve() {
    while (!waiting_.empty() && !can_serve()) {
        const OnHost call = std::move(waiting_.front());
        waiting_.pop_front();
        call(Error{Blame::node, refusal_});
    }
    while (!waiting_.empty() && !ready_.empty()) {
        const OnHost call = std::move(waiting_.front());
        waiting_.pop_front();
        HostPointer host = std::move(ready_.front());
        ready_.pop_front();
        host->own(nullptr, nullptr);
        call(std::move(host));
    }
    refill();
}

/// Without a restricted listener there is no PMIx: fails the waiting requests, keeps no spares.
void HostPool::give_up() {
    if (can_serve()) {
        refusal_ = kOpenToAll;
        log_.warn(
            "no PMIx on this node: a PMIx host's listener can't be closed to other users; "
            "stages "
            "exchange their cards over the daemons",
            {{"remedy",
              "allow user namespaces (sysctl user.max_user_namespaces), then restart "
              "stagecastd"}});
    }
    loop_.defer([this] {  // Not from within a host's own callback.
        for (const Starting& one : starting_) {
            loop_.cancel(one.timer);
        }
        starting_.clear();
        ready_.clear();
        serve();
    });
}

void HostPool::refill() {
    if (!can_serve()) {
        return;
    }
    // After a failure only for waiting requests, which learn if it fails again.
    const std::size_t wanted = waiting_.size() + (retry_ == 0 ? spares_ : 0);
    for (std::size_t have = starting_.size() + ready_.size(); have < wanted; ++have) {
        start_one();
    }
}

void HostPool::start_one() {
    auto host = PmixHost::start(loop_, children_, log_, place_);
    if (!host) {
        on_failed(nullptr, host.error().sentence());
        return;
    }
    PmixHost* const key = host->get();
    key->own(
        [this, key](const FromHost& message) {
            const auto* ready = std::get_if<HostReady>(&message);
            if (ready != nullptr && !ready->gated) {
                give_up();
            } else if (ready != nullptr) {
                on_ready(key);
            } else if (const auto* failed = std::get_if<HostFailed>(&message)) {
                on_failed(key, failed->sentence);
            }
        },
        [this, key](const std::string& why) { on_failed(key, why); });
    const Loop::TimerId timer =
        loop_.after(kHostReadyMax, [this, key] { on_failed(key, "it was not ready in time"); });
    starting_.push_back({std::move(*host), timer});
}

HostPool::HostPointer HostPool::take_starting(PmixHost* host) {
    const auto found = std::find_if(starting_.begin(), starting_.end(), [&](const auto& one) {
        return one.host.get() == host;
    });
    if (found == starting_.end()) {
        return nullptr;
    }
    loop_.cancel(found->timer);
    HostPointer taken = std::move(found->host);
    starting_.erase(found);
    return taken;
}

void HostPool::on_ready(PmixHost* host) {
    HostPointer taken = take_starting(host);
    if (taken) {
        ready_.push_back(std::move(taken));
        serve();
    }
}

/// A host never became ready, or a spare one crashed. Fails the waiting requests, because the
/// next host would probably fail in the same way.
void HostPool::on_failed(PmixHost* host, const std::string& why) {
    HostPointer lost = host != nullptr ? take_starting(host) : nullptr;
    const auto spare = std::find_if(
        ready_.begin(), ready_.end(), [&](const auto& one) { return one.get() == host; });
    if (spare != ready_.end()) {
        lost = std::move(*spare);
        ready_.erase(spare);
    }
    if (retry_ == 0) {
        log_.warn(
            "a PMIx host did not start; is munged running, and is stagecast-pmix-host "
            "installed?",
            {{"why", why}, {"program", place_.program}});
        retry_ = loop_.after(kRetryAfter, [this] {
            retry_ = 0;
            refill();
        });
    }
    if (!waiting_.empty() && ready_.empty() && starting_.empty()) {
        const OnHost call = std::move(waiting_.front());
        waiting_.pop_front();
        call(Error{Blame::node, "starting a PMIx host: " + why});
    }
    if (!waiting_.empty()) {
        loop_.defer([this] { serve(); });
    }
}

}  // namespace stage
