#include "stager/daemon/cache/lease_server.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "transport/base/log.h"

#include <utility>

namespace stage {

void LeaseServer::on_lease(const LeaseMessage& message, std::unique_ptr<DrivenLink> link) {
    if (!places_.take(message.file.uid)) {
        return;  // It hangs up on them.
    }
    const NodeLeases::Asker asker = ++last_;
    Guest& guest = guests_[asker];
    guest.link = std::move(link);
    guest.uid = message.file.uid;
    guest.link->set_on_change([this, asker] { on_change(asker); });
    guest.pulse = std::make_unique<Alarm>(services_.loop, [this, asker] { pulse(asker); });
    guest.silence = std::make_unique<Alarm>(services_.loop, [this, asker] { remove(asker); });
    hear(guest);
    pulse(asker);
    const Link& peer = guest.link->link();
    services_.log.debug("a node asks who reads a file", {{"node", peer.peer_name()}});
    say(leases_.ask(asker,
                    {.node = peer.peer_name(), .address = peer.address().host()},
                    message.file,
                    message.may_wait));
}

void LeaseServer::on_change(NodeLeases::Asker asker) {
    while (take_frame(asker)) {
    }
    const auto guest = guests_.find(asker);
    if (guest != guests_.end() && guest->second.link->link().state() == Link::State::closed) {
        remove(asker);
    }
}

/// False if there was none.
bool LeaseServer::take_frame(NodeLeases::Asker asker) {
    const auto guest = guests_.find(asker);
    const auto frame =
        guest != guests_.end() ? guest->second.link->link().receive() : std::nullopt;
    if (!frame) {
        return false;
    }
    hear(guest->second);
    const auto message = decode_tree_message(*frame);
    if (const auto* held = message ? std::get_if<HeldMessage>(&*message) : nullptr) {
        say(held->is_held ? leases_.held(asker) : leases_.missed(asker));
    } else if (!message || !std::holds_alternative<PulseMessage>(*message)) {
        ++services_.counters.messages_refused;
        remove(asker);
    }
    return true;
}

void LeaseServer::hear(Guest& guest) {
    guest.silence->set(services_.loop.now() + services_.config.connect_timeout +
                       3 * kLeasePulse);
}

void LeaseServer::pulse(NodeLeases::Asker asker) {
    const auto guest = guests_.find(asker);
    if (guest != guests_.end()) {
        guest->second.link->send(encode(TreeMessage{PulseMessage{}}));
        guest->second.pulse->set(services_.loop.now() + kLeasePulse);
    }
}

void LeaseServer::say(const NodeLeases::Words& words) {
    for (const NodeLeases::Word& word : words) {
        const auto guest = guests_.find(word.to);
        if (guest != guests_.end()) {
            guest->second.link->send(encode(TreeMessage{
                LeasedMessage{.node = word.holder.node, .address = word.holder.address}}));
        }
    }
}

void LeaseServer::remove(NodeLeases::Asker asker) {
    const auto guest = guests_.find(asker);
    if (guest == guests_.end()) {
        return;
    }
    places_.leave(guest->second.uid);
    // Not from within its own callback.
    services_.loop.defer([gone = std::make_shared<Guest>(std::move(guest->second))] {});
    guests_.erase(guest);
    say(leases_.leave(asker));
}

}  // namespace stage
