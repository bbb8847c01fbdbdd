#include "stager/daemon/cache/cluster_cache.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/lease_server.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {

ClusterCache::ClusterCache(const Basics& basics, LinkDialer& dialer, NodeCache& cache)
    : basics_{basics}, dialer_{dialer}, cache_{cache}, lease_servers_{basics, [this] {
                                                                          on_lease_servers();
                                                                      }} {
    cache_.set_peers(this);
}

ClusterCache::~ClusterCache() {
    cache_.set_peers(nullptr);
}

// ---- the lease server

void ClusterCache::ask(const LeasedFile& file, bool may_wait) {
    Session& session = sessions_[file];
    session.may_wait = may_wait;
    session.pulse = std::make_unique<Alarm>(basics_.loop, [this, file] { pulse(file); });
    session.silence =
        std::make_unique<Alarm>(basics_.loop, [this, file] { on_lease_server_gone(file); });
    session.holder_silence =
        std::make_unique<Alarm>(basics_.loop, [this, file] { missed(file); });
    session.again = std::make_unique<Alarm>(basics_.loop, [this, file] {
        if (const auto found = sessions_.find(file); found != sessions_.end()) {
            fetch(file, found->second);
        }
    });
    lease_servers_.prepare();
}

void ClusterCache::on_lease_servers() {
    std::vector<LeasedFile> files;
    for (const auto& [file, session] : sessions_) {
        if (session.phase == Phase::looking) {
            files.push_back(file);
        }
    }
    for (const LeasedFile& file : files) {
        const auto session = sessions_.find(file);
        if (session != sessions_.end()) {
            begin(file, session->second);
        }
    }
}

void ClusterCache::begin(const LeasedFile& file, Session& session) {
    const SlurmNode* lease_server = lease_servers_.server_of(file);
    if (lease_server == nullptr) {
        read(file);
        return;
    }
    auto link = dialer_.dial(
        lease_server->name, lease_server->address, [this, file] { on_lease_server(file); });
    if (!link) {
        read(file);
        return;
    }
    session.phase = Phase::waiting;
    session.lease_server = std::move(*link);
    session.lease_server->send(
        encode(TreeMessage{LeaseMessage{.file = file, .may_wait = session.may_wait}}));
    session.pulse->set(basics_.loop.now() + kLeasePulse);
    restart_silence(session);
}

/// Longer than ConnectTimeout, so that a link that does not open has failed before.
Duration ClusterCache::silence_max() const {
    return basics_.config.connect_timeout + 3 * kLeasePulse;
}

void ClusterCache::restart_silence(Session& session) {
    session.silence->set(basics_.loop.now() + silence_max());
}

void ClusterCache::pulse(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session != sessions_.end() && session->second.lease_server) {
        session->second.lease_server->send(encode(TreeMessage{PulseMessage{}}));
        session->second.pulse->set(basics_.loop.now() + kLeasePulse);
    }
}

void ClusterCache::on_lease_server(const LeasedFile& file) {
    while (take_frame(file)) {
    }
    const auto session = sessions_.find(file);
    const bool is_closed = session != sessions_.end() && session->second.lease_server &&
                           session->second.lease_server->link().state() == Link::State::closed;
    if (is_closed) {
        on_lease_server_gone(file);
    }
}

/// False if there was no message.
bool ClusterCache::take_frame(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session == sessions_.end() || !session->second.lease_server) {
        return false;
    }
    const auto frame = session->second.lease_server->link().receive();
    if (!frame) {
        return false;
    }
    restart_silence(session->second);
    const auto message = decode_tree_message(*frame);
    if (const auto* leased = message ? std::get_if<LeasedMessage>(&*message) : nullptr) {
        on_leased(file, session->second, *leased);
    } else if (!message || !std::holds_alternative<PulseMessage>(*message)) {
        on_lease_server_gone(file);
    }
    return true;
}

/// A fetch in progress may still succeed; otherwise this node reads.
void ClusterCache::on_lease_server_gone(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session == sessions_.end()) {
        return;
    }
    if (session->second.lease_server && session->second.phase == Phase::waiting) {
        const Link& link = session->second.lease_server->link();
        lease_servers_.on_silent(link.peer_name());
        basics_.log.info(
            "the lease server of a file does not answer; reading the file here",
            {{"node", link.peer_name()},
             {"why", link.error() ? link.error()->sentence() : "its stagecastd is silent"}});
    }
    leave_lease_server(session->second);
    if (session->second.phase == Phase::waiting) {
        read(file);
    }
}

void ClusterCache::leave_lease_server(Session& session) {
    session.silence->set(std::nullopt);
    session.pulse->set(std::nullopt);
    session.lease_server.reset();
}

void ClusterCache::on_leased(const LeasedFile& file,
                             Session& session,
                             const LeasedMessage& leased) {
    if (session.phase != Phase::waiting) {
        return;
    }
    if (leased.node.empty()) {
        read(file);
    } else {
        begin_fetching(file, session, leased);
    }
}

/// Lets the stage read that waits for the file, if there still is one.
void ClusterCache::read(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session != sessions_.end()) {
        session->second.phase = Phase::reading;
        cache_.on_turn(file);
    }
}

// ---- the holder

void ClusterCache::begin_fetching(const LeasedFile& file,
                                  Session& session,
                                  const LeasedMessage& leased) {
    session.phase = Phase::fetching;
    session.where = leased;
    session.times_busy = 0;
    fetch(file, session);
}

void ClusterCache::fetch(const LeasedFile& file, Session& session) {
    const LeasedMessage& leased = session.where;
    auto link = dialer_.dial(leased.node, leased.address, [this, file] { on_holder(file); });
    if (!link) {
        missed(file);
        return;
    }
    session.holder = std::move(*link);
    session.holder->send(encode(TreeMessage{FetchMessage{file}}));
    session.holder_silence->set(basics_.loop.now() + silence_max());
}

void ClusterCache::on_holder(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session == sessions_.end() || !session->second.holder) {
        return;
    }
    Link& link = session->second.holder->link();
    const auto frame = link.receive();
    const auto message = frame ? decode_tree_message(*frame)
                               : Result<TreeMessage>{Error{Blame::node, "nothing"}};
    if (const auto* found = message ? std::get_if<FoundMessage>(&*message) : nullptr) {
        on_found(file, session->second, *found);
    } else if (frame || link.state() == Link::State::closed) {
        missed(file);
    }
}

void ClusterCache::on_found(const LeasedFile& file,
                            Session& session,
                            const FoundMessage& found) {
    const std::string node = session.holder->link().peer_name();
    session.holder_silence->set(std::nullopt);
    CopyOrder order{.way = CopyWay::receive, .size = found.bytes};
    order.key.key = found.key;
    order.key.nonce_base = found.nonce_base;
    UniqueFd socket;
    if (found.bytes > 0) {
        session.holder->send(encode(TreeMessage{TakeMessage{}}));
        socket = session.holder->release();
    }
    session.holder.reset();
    if (found.bytes == 0 && found.content != Content{}) {
        on_busy(file, session);
        return;
    }
    const Status begun = socket
                             ? cache_.take_in(file, found.content, order, std::move(socket))
                             : Status{Error{Blame::node, "it is no longer in the cache there"}};
    basics_.log.info(begun ? "fetching a file from another node's cache"
                           : "cannot fetch a file from another node's cache",
                     {{"node", node},
                      {"bytes", found.bytes},
                      {"why", begun ? "" : begun.error().sentence()}});
    if (!begun) {
        missed(file);
    }
}

void ClusterCache::on_busy(const LeasedFile& file, Session& session) {
    if (++session.times_busy <= kBusyTimesMax) {
        session.again->set(basics_.loop.now() + kBusyPause);
        return;
    }
    leave_lease_server(session);
    read(file);
}

void ClusterCache::missed(const LeasedFile& file) {
    const auto session = sessions_.find(file);
    if (session == sessions_.end() || session->second.phase != Phase::fetching) {
        return;
    }
    session->second.holder_silence->set(std::nullopt);
    session->second.holder.reset();
    session->second.phase = Phase::waiting;
    if (session->second.lease_server) {
        session->second.lease_server->send(encode(TreeMessage{HeldMessage{false}}));
    } else {
        read(file);
    }
}

// ---- the end

void ClusterCache::settle(const LeasedFile& file, bool is_here) {
    const auto session = sessions_.find(file);
    if (session == sessions_.end()) {
        return;
    }
    if (is_here && session->second.lease_server) {
        session->second.lease_server->send(encode(TreeMessage{HeldMessage{true}}));
        close_when_sent(std::move(session->second.lease_server));
    }
    drop(session);
}

void ClusterCache::drop(Sessions::iterator session) {
    // Not within its own callback.
    basics_.loop.defer([gone = std::make_shared<Session>(std::move(session->second))] {});
    sessions_.erase(session);
}

void ClusterCache::close_when_sent(std::unique_ptr<DrivenLink> link) {
    DrivenLink* key = link.get();
    ending_.push_back(std::move(link));
    key->set_on_change([this, key] {
        const auto found =
            std::ranges::find_if(ending_, [key](const auto& one) { return one.get() == key; });
        static_cast<void>(key->link().receive());
        if (found != ending_.end() && key->link().state() == Link::State::closed) {
            ending_.erase(found);
        }
    });
    key->finish();
}

}  // namespace stage
