#include "stager/daemon/cache/lease_servers.h"

#include "stager/cache/lease_server_choice.h"
#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"

#include <algorithm>

namespace stage {

void LeaseServers::prepare() {
    if (asker_.is_busy()) {
        return;
    }
    if (fresh_until_ && basics_.loop.now() < *fresh_until_) {
        basics_.loop.defer([this] { on_known_(); });
        return;
    }
    asker_.ask(
        LeaseServersQuestion{},
        [this](const Result<SlurmAnswer>& answer) { on_answer(answer); },
        basics_.config.connect_timeout);
}

void LeaseServers::on_answer(const Result<SlurmAnswer>& answer) {
    const auto* nodes = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    fresh_until_ = basics_.loop.now() + kSilentServer;
    if (nodes != nullptr) {
        know(*nodes);
    } else if (!answer) {
        basics_.log.info("cannot ask other nodes' caches",
                         {{"why", answer.error().sentence()}});
    }
    on_known_();
}

void LeaseServers::know(std::vector<SlurmNode> nodes) {
    known_at_ = basics_.loop.now();
    fresh_until_ = known_at_ + kLeaseServersAge;
    nodes_ = std::move(nodes);
    names_.clear();
    for (const SlurmNode& node : nodes_) {
        names_.push_back(node.name);
    }
    silent_until_.clear();
}

const SlurmNode* LeaseServers::server_of(const LeasedFile& file) const {
    if (nodes_.size() < 2) {
        return nullptr;
    }
    const SlurmNode& server = nodes_[stage::lease_server_of(names_, file)];
    const auto silent = silent_until_.find(server.name);
    const bool is_silent = silent != silent_until_.end() && basics_.loop.now() < silent->second;
    return is_silent ? nullptr : &server;
}

/// Only names of lease servers come here, so there are few.
void LeaseServers::on_silent(const std::string& node) {
    silent_until_[node] = basics_.loop.now() + kSilentServer;
    if (fresh_until_) {
        fresh_until_ = std::min(*fresh_until_, known_at_ + kLeaseServersAgeLeast);
    }
}

}  // namespace stage
