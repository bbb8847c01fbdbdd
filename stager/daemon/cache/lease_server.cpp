#include "stager/daemon/cache/lease_server.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"

#include <utility>

namespace stage {

void LeaseServer::on_lease(const LeaseMessage& message, std::unique_ptr<DrivenLink> link) {
    if (!places_.take(message.file.uid)) {
        return;  // Destroying the link closes the connection.
    }
    const NodeLeases::Asker asker = ++last_;
    AskerLink& asker_link = asker_links_[asker];
    asker_link.link = std::move(link);
    asker_link.uid = message.file.uid;
    asker_link.link->set_on_change([this, asker] { on_change(asker); });
    asker_link.pulse = std::make_unique<Alarm>(basics_.loop, [this, asker] { pulse(asker); });
    asker_link.silence =
        std::make_unique<Alarm>(basics_.loop, [this, asker] { remove(asker); });
    restart_silence(asker_link);
    pulse(asker);
    const Link& peer = asker_link.link->link();
    basics_.log.debug("a node asks for the lease of a file", {{"node", peer.peer_name()}});
    say(leases_.ask(asker,
                    {.node = peer.peer_name(), .address = peer.address().host()},
                    message.file,
                    message.may_wait));
}

void LeaseServer::on_change(NodeLeases::Asker asker) {
    while (take_frame(asker)) {
    }
    const auto found = asker_links_.find(asker);
    if (found != asker_links_.end() &&
        found->second.link->link().state() == Link::State::closed) {
        remove(asker);
    }
}

/// False if there was no message.
bool LeaseServer::take_frame(NodeLeases::Asker asker) {
    const auto found = asker_links_.find(asker);
    const auto frame =
        found != asker_links_.end() ? found->second.link->link().receive() : std::nullopt;
    if (!frame) {
        return false;
    }
    restart_silence(found->second);
    const auto message = decode_tree_message(*frame);
    if (const auto* held = message ? std::get_if<HeldMessage>(&*message) : nullptr) {
        say(held->is_held ? leases_.held(asker) : leases_.missed(asker));
    } else if (!message || !std::holds_alternative<PulseMessage>(*message)) {
        ++basics_.counters.messages_refused;
        remove(asker);
    }
    return true;
}

void LeaseServer::restart_silence(AskerLink& asker_link) {
    asker_link.silence->set(basics_.loop.now() + basics_.config.connect_timeout +
                            3 * kLeasePulse);
}

void LeaseServer::pulse(NodeLeases::Asker asker) {
    const auto found = asker_links_.find(asker);
    if (found != asker_links_.end()) {
        found->second.link->send(encode(TreeMessage{PulseMessage{}}));
        found->second.pulse->set(basics_.loop.now() + kLeasePulse);
    }
}

void LeaseServer::say(const NodeLeases::Words& words) {
    for (const NodeLeases::Word& word : words) {
        const auto found = asker_links_.find(word.to);
        if (found != asker_links_.end()) {
            found->second.link->send(encode(TreeMessage{
                LeasedMessage{.node = word.holder.node, .address = word.holder.address}}));
        }
    }
}

void LeaseServer::remove(NodeLeases::Asker asker) {
    const auto found = asker_links_.find(asker);
    if (found == asker_links_.end()) {
        return;
    }
    places_.leave(found->second.uid);
    // Not within its own callback.
    basics_.loop.defer([gone = std::make_shared<AskerLink>(std::move(found->second))] {});
    asker_links_.erase(found);
    say(leases_.leave(asker));
}

}  // namespace stage
