#include "stager/daemon/incoming.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/link/cluster_name.h"
#include "stager/link/credentials.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <sys/epoll.h>

#include <algorithm>

namespace stage {
namespace {

/// The time from the end of the handshake to SETUP, which a daemon sends at once.
constexpr Duration kSetupMax = std::chrono::seconds{5};

bool is_first_word(const TreeMessage& message) {
    return std::holds_alternative<SetupMessage>(message) ||
           std::holds_alternative<AskMessage>(message) ||
           std::holds_alternative<ExamineMessage>(message) ||
           std::holds_alternative<LeaseMessage>(message) ||
           std::holds_alternative<FetchMessage>(message) ||
           std::holds_alternative<PassageMessage>(message) ||
           std::holds_alternative<ImportMessage>(message);
}

bool is_foreign_word(const TreeMessage& message) {
    return std::holds_alternative<PassageMessage>(message) ||
           std::holds_alternative<ImportMessage>(message);
}

/// Another cluster's daemon asks for passages and imports, and sets up legs, only.
bool is_for_gateway(const TreeMessage& message) {
    return is_foreign_word(message) || std::holds_alternative<SetupMessage>(message);
}

}  // namespace

Result<std::unique_ptr<Incoming>> Incoming::open(const Basics& basics,
                                                 const LinkPolicy& policy,
                                                 Credentials& credentials,
                                                 Handlers handlers) {
    TRY(auto listener, Listener::open(basics.config.port, policy, credentials, basics.log));
    auto incoming =
        std::make_unique<Incoming>(Token{}, basics, std::move(listener), std::move(handlers));
    const Status watched =
        basics.loop.watch(incoming->listener_.fd(), EPOLLIN, [self = incoming.get()](auto) {
            self->on_connect();
        });
    if (!watched) {
        return watched.error();
    }
    return incoming;
}

Incoming::Incoming(Token /*token*/, const Basics& basics, Listener listener, Handlers handlers)
    : basics_{basics}, listener_{std::move(listener)}, handlers_{std::move(handlers)} {
}

Incoming::~Incoming() {
    basics_.loop.forget(listener_.fd());
    for (const PendingConnection& pending : pending_) {
        basics_.loop.cancel(pending.timer);
    }
}

void Incoming::on_connect() {
    for (auto& link : listener_.accept(basics_.loop.now())) {
        auto driven = std::make_unique<DrivenLink>(basics_.loop, std::move(link), [] {});
        const DrivenLink* key = driven.get();
        driven->set_on_change([this, key] { on_change(key); });
        pending_.push_back({.link = std::move(driven), .settled = false, .timer = 0});
    }
    if (listener_.lacks_descriptor()) {
        basics_.loop.rest(listener_.fd());
    }
    // The listener may have closed some to make room.
    for (const PendingConnection& pending : pending_) {
        pending.link->look();
    }
}

std::list<Incoming::PendingConnection>::iterator Incoming::find(const DrivenLink* link) {
    return std::ranges::find(
        pending_, link, [](const PendingConnection& one) -> const DrivenLink* {
            return one.link.get();
        });
}

void Incoming::on_change(const DrivenLink* link) {
    const auto pending = find(link);
    if (pending == pending_.end()) {
        return;
    }
    const Link::State state = pending->link->link().state();
    const bool is_new = state == Link::State::open || state == Link::State::closed;
    if (is_new && !pending->settled) {
        pending->settled = true;
        listener_.settle(pending->link->link(), basics_.loop.now());
        pending->timer = basics_.loop.after(kSetupMax, [this, link] {
            if (const auto late = find(link); late != pending_.end()) {
                remove(late);
            }
        });
    }
    const auto frame = pending->link->link().receive();
    if (frame) {
        on_frame(pending, *frame);
    } else if (state == Link::State::closed) {
        remove(pending);
    }
}

void Incoming::on_frame(std::list<PendingConnection>::iterator pending, Bytes frame) {
    auto message = decode_tree_message(frame);
    const bool is_foreign = is_of_cluster(pending->link->link().peer_name());
    if (message && (is_foreign ? !is_for_gateway(*message) : is_foreign_word(*message))) {
        message = Error{Blame::node, "it may not send this message"};
    }
    if (const auto* question = message ? std::get_if<ReportQuestion>(&*message) : nullptr) {
        pending->link->send(encode(ReportMessage{handlers_.report(*question)}));
        pending->link->finish();
        return;
    }
    if (!message || !is_first_word(*message)) {
        ++basics_.counters.messages_refused;
        basics_.log.warn(
            "unexpected first message from another stagecastd; do both nodes run one version?",
            {{"node", pending->link->link().peer_name()},
             {"why",
              message ? "it is another message than SETUP" : message.error().sentence()}});
        // However little it can read of this, it sees the version and can report it.
        pending->link->send(encode(FailedMessage{}));
        pending->link->finish();
        return;
    }
    std::unique_ptr<DrivenLink> link = std::move(pending->link);
    remove(pending);
    hand_over(*message, std::move(link));
}

void Incoming::hand_over(const TreeMessage& message, std::unique_ptr<DrivenLink> link) {
    if (const auto* setup = std::get_if<SetupMessage>(&message)) {
        handlers_.on_setup(*setup, std::move(link));
    } else if (const auto* ask = std::get_if<AskMessage>(&message)) {
        handlers_.on_ask(*ask, std::move(link));
    } else if (const auto* examine = std::get_if<ExamineMessage>(&message)) {
        handlers_.on_examine(*examine, std::move(link));
    } else if (const auto* lease = std::get_if<LeaseMessage>(&message)) {
        handlers_.on_lease(*lease, std::move(link));
    } else if (const auto* fetch = std::get_if<FetchMessage>(&message)) {
        handlers_.on_fetch(*fetch, std::move(link));
    } else if (const auto* passage = std::get_if<PassageMessage>(&message)) {
        handlers_.on_passage(*passage, std::move(link));
    } else if (const auto* import = std::get_if<ImportMessage>(&message)) {
        handlers_.on_import(*import, std::move(link));
    }
}

void Incoming::remove(std::list<PendingConnection>::iterator pending) {
    basics_.loop.cancel(pending->timer);
    pending_.erase(pending);
}

}  // namespace stage
