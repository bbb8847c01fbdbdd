#include "stager/daemon/cache/cluster_cache.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/lease_server.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/link/credentials.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {

ClusterCache::ClusterCache(Services& services)
    : services_{services}, keepers_{services, [this] { on_keepers(); }} {
    services_.cache.set_peers(this);
}

ClusterCache::~ClusterCache() {
    services_.cache.set_peers(nullptr);
}

// ---- the keeper

void ClusterCache::ask(const LeasedFile& file, bool may_wait) {
    Talk& talk = talks_[file];
    talk.may_wait = may_wait;
    talk.pulse = std::make_unique<Alarm>(services_.loop, [this, file] { pulse(file); });
    talk.silence =
        std::make_unique<Alarm>(services_.loop, [this, file] { on_keeper_gone(file); });
    talk.holder_silence =
        std::make_unique<Alarm>(services_.loop, [this, file] { missed(file); });
    talk.again = std::make_unique<Alarm>(services_.loop, [this, file] {
        if (const auto found = talks_.find(file); found != talks_.end()) {
            fetch(file, found->second);
        }
    });
    keepers_.prepare();
}

void ClusterCache::on_keepers() {
    std::vector<LeasedFile> files;
    for (const auto& [file, talk] : talks_) {
        if (talk.phase == Phase::looking) {
            files.push_back(file);
        }
    }
    for (const LeasedFile& file : files) {
        const auto talk = talks_.find(file);
        if (talk != talks_.end()) {
            begin(file, talk->second);
        }
    }
}

void ClusterCache::begin(const LeasedFile& file, Talk& talk) {
    const SlurmNode* keeper = keepers_.keeper_of(file);
    const auto address = keeper != nullptr
                             ? Address::parse(keeper->address, services_.config.port)
                             : Result<Address>{Error{Blame::node, "nobody keeps it"}};
    if (!address) {
        read(file);
        return;
    }
    talk.phase = Phase::waiting;
    talk.keeper = std::make_unique<DrivenLink>(services_.loop,
                                               Link::connect(services_.links,
                                                             services_.credentials,
                                                             keeper->name,
                                                             *address,
                                                             services_.loop.now()),
                                               [this, file] { on_keeper(file); });
    talk.keeper->send(
        encode(TreeMessage{LeaseMessage{.file = file, .may_wait = talk.may_wait}}));
    talk.pulse->set(services_.loop.now() + kLeasePulse);
    hear(talk);
}

/// A link that does not open gives up before.
Duration ClusterCache::patience() const {
    return services_.config.connect_timeout + 3 * kLeasePulse;
}

void ClusterCache::hear(Talk& talk) {
    talk.silence->set(services_.loop.now() + patience());
}

void ClusterCache::pulse(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk != talks_.end() && talk->second.keeper) {
        talk->second.keeper->send(encode(TreeMessage{PulseMessage{}}));
        talk->second.pulse->set(services_.loop.now() + kLeasePulse);
    }
}

void ClusterCache::on_keeper(const LeasedFile& file) {
    while (take_frame(file)) {
    }
    const auto talk = talks_.find(file);
    const bool is_closed = talk != talks_.end() && talk->second.keeper &&
                           talk->second.keeper->link().state() == Link::State::closed;
    if (is_closed) {
        on_keeper_gone(file);
    }
}

/// False if there was none.
bool ClusterCache::take_frame(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk == talks_.end() || !talk->second.keeper) {
        return false;
    }
    const auto frame = talk->second.keeper->link().receive();
    if (!frame) {
        return false;
    }
    hear(talk->second);
    const auto message = decode_tree_message(*frame);
    if (const auto* word = message ? std::get_if<LeasedMessage>(&*message) : nullptr) {
        on_word(file, talk->second, *word);
    } else if (!message || !std::holds_alternative<PulseMessage>(*message)) {
        on_keeper_gone(file);
    }
    return true;
}

/// What is being fetched may come all the same; else this node reads.
void ClusterCache::on_keeper_gone(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk == talks_.end()) {
        return;
    }
    if (talk->second.keeper && talk->second.phase == Phase::waiting) {
        const Link& link = talk->second.keeper->link();
        keepers_.on_silent(link.peer_name());
        services_.log.info(
            "a file's keeper does not answer; it is read here",
            {{"node", link.peer_name()},
             {"why", link.error() ? link.error()->sentence() : "its stagecastd is silent"}});
    }
    leave_keeper(talk->second);
    if (talk->second.phase == Phase::waiting) {
        read(file);
    }
}

void ClusterCache::leave_keeper(Talk& talk) {
    talk.silence->set(std::nullopt);
    talk.pulse->set(std::nullopt);
    talk.keeper.reset();
}

void ClusterCache::on_word(const LeasedFile& file, Talk& talk, const LeasedMessage& word) {
    if (talk.phase != Phase::waiting) {
        return;
    }
    if (word.node.empty()) {
        read(file);
    } else {
        begin_fetching(file, talk, word);
    }
}

/// The reader is whoever waits for it here, or nobody any more.
void ClusterCache::read(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk != talks_.end()) {
        talk->second.phase = Phase::reading;
        services_.cache.on_turn(file);
    }
}

// ---- the holder

void ClusterCache::begin_fetching(const LeasedFile& file,
                                  Talk& talk,
                                  const LeasedMessage& word) {
    talk.phase = Phase::fetching;
    talk.where = word;
    talk.times_busy = 0;
    fetch(file, talk);
}

void ClusterCache::fetch(const LeasedFile& file, Talk& talk) {
    const LeasedMessage& word = talk.where;
    const auto address = Address::parse(word.address, services_.config.port);
    if (!address) {
        missed(file);
        return;
    }
    talk.holder = std::make_unique<DrivenLink>(
        services_.loop,
        Link::connect(
            services_.links, services_.credentials, word.node, *address, services_.loop.now()),
        [this, file] { on_holder(file); });
    talk.holder->send(encode(TreeMessage{FetchMessage{file}}));
    talk.holder_silence->set(services_.loop.now() + patience());
}

void ClusterCache::on_holder(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk == talks_.end() || !talk->second.holder) {
        return;
    }
    Link& link = talk->second.holder->link();
    const auto frame = link.receive();
    const auto message = frame ? decode_tree_message(*frame)
                               : Result<TreeMessage>{Error{Blame::node, "nothing"}};
    if (const auto* found = message ? std::get_if<FoundMessage>(&*message) : nullptr) {
        on_found(file, talk->second, *found);
    } else if (frame || link.state() == Link::State::closed) {
        missed(file);
    }
}

void ClusterCache::on_found(const LeasedFile& file, Talk& talk, const FoundMessage& found) {
    const std::string node = talk.holder->link().peer_name();
    talk.holder_silence->set(std::nullopt);
    CopyOrder order{.way = CopyWay::receive, .size = found.bytes};
    order.key.key = found.key;
    order.key.nonce_base = found.nonce_base;
    UniqueFd socket;
    if (found.bytes > 0) {
        talk.holder->send(encode(TreeMessage{TakeMessage{}}));
        socket = talk.holder->release();
    }
    talk.holder.reset();
    if (found.bytes == 0 && found.content != Content{}) {
        on_busy(file, talk);
        return;
    }
    const Status begun =
        socket ? services_.cache.take_in(file, found.content, order, std::move(socket))
               : Status{Error{Blame::node, "it isn't there any more"}};
    services_.log.info(begun ? "fetching a file of another node's cache"
                             : "a file of another node's cache can't be fetched",
                       {{"node", node},
                        {"bytes", found.bytes},
                        {"why", begun ? "" : begun.error().sentence()}});
    if (!begun) {
        missed(file);
    }
}

void ClusterCache::on_busy(const LeasedFile& file, Talk& talk) {
    if (++talk.times_busy <= kBusyTimesMax) {
        talk.again->set(services_.loop.now() + kBusyPause);
        return;
    }
    leave_keeper(talk);
    read(file);
}

void ClusterCache::missed(const LeasedFile& file) {
    const auto talk = talks_.find(file);
    if (talk == talks_.end() || talk->second.phase != Phase::fetching) {
        return;
    }
    talk->second.holder_silence->set(std::nullopt);
    talk->second.holder.reset();
    talk->second.phase = Phase::waiting;
    if (talk->second.keeper) {
        talk->second.keeper->send(encode(TreeMessage{HeldMessage{false}}));
    } else {
        read(file);
    }
}

// ---- the end

void ClusterCache::settle(const LeasedFile& file, bool is_here) {
    const auto talk = talks_.find(file);
    if (talk == talks_.end()) {
        return;
    }
    if (is_here && talk->second.keeper) {
        talk->second.keeper->send(encode(TreeMessage{HeldMessage{true}}));
        let_end(std::move(talk->second.keeper));
    }
    drop(talk);
}

void ClusterCache::drop(Talks::iterator talk) {
    // Not from within its own callback.
    services_.loop.defer([gone = std::make_shared<Talk>(std::move(talk->second))] {});
    talks_.erase(talk);
}

void ClusterCache::let_end(std::unique_ptr<DrivenLink> link) {
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
