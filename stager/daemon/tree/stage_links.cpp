#include "stager/daemon/tree/stage_links.h"

#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <utility>

namespace stage {
namespace {

Error why_closed(const Link& link) {
    return link.error().value_or(Error{Blame::node, "connection closed"});
}

}  // namespace

Status StageLinks::connect(Rank rank, const std::string& name, const std::string& host) {
    TRY(auto link, dialer_.dial(name, host, [] {}));
    const DrivenLink* key = link.get();
    (link)->set_on_change([this, rank, key] { on_change(rank, key); });
    links_[rank] = {.link = std::move(link), .is_up = false};
    // One that was prepared may be open already.
    basics_.loop.defer([this, rank, key, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            on_change(rank, key);
        }
    });
    return {};
}

void StageLinks::take(Rank rank, std::unique_ptr<DrivenLink> link) {
    hang_up(rank);
    const DrivenLink* key = link.get();
    link->set_on_change([this, rank, key] { on_change(rank, key); });
    links_[rank] = {.link = std::move(link), .is_up = true};
    // More messages may have arrived with the SETUP.
    on_change(rank, key);
}

void StageLinks::send(Rank rank, const TreeMessage& message) {
    const auto found = links_.find(rank);
    if (found != links_.end()) {
        found->second.link->send(encode(message));
    }
}

void StageLinks::hang_up(Rank rank) {
    const auto found = links_.find(rank);
    if (found == links_.end()) {
        return;
    }
    std::unique_ptr<DrivenLink> link = std::move(found->second.link);
    links_.erase(found);
    const DrivenLink* key = link.get();
    link->set_on_change([this, key] { on_left(key); });
    link->finish();
    leaving_.push_back(std::move(link));
    basics_.loop.defer([this, key, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            on_left(key);
        }
    });
}

StageLinks::Entry* StageLinks::find(Rank rank, const DrivenLink* link) {
    const auto found = links_.find(rank);
    return found != links_.end() && found->second.link.get() == link ? &found->second : nullptr;
}

void StageLinks::on_change(Rank rank, const DrivenLink* link) {
    Entry* entry = find(rank, link);
    if (entry == nullptr) {
        return;
    }
    if (!entry->is_up && entry->link->link().state() == Link::State::open) {
        entry->is_up = true;
        owner_.on_link_up(rank);
    }
    read(rank, link);
    entry = find(rank, link);
    if (entry != nullptr && entry->link->link().state() == Link::State::closed) {
        const Error why = entry->objection.value_or(why_closed(entry->link->link()));
        links_.erase(rank);
        owner_.on_link_down(rank, why);
        if (empty()) {
            owner_.on_links_gone();
        }
    }
}

void StageLinks::read(Rank rank, const DrivenLink* link) {
    while (Entry* entry = find(rank, link)) {
        const auto frame = entry->link->link().receive();
        if (!frame) {
            return;
        }
        auto message = decode_tree_message(*frame);
        if (!message) {
            ++basics_.counters.messages_refused;
            entry->objection = message.error();
            entry->link->close(message.error());  // Sets this error if it is closed already.
            return;
        }
        owner_.on_link_message(rank, std::move(*message));
    }
}

void StageLinks::on_left(const DrivenLink* link) {
    for (auto one = leaving_.begin(); one != leaving_.end(); ++one) {
        if (one->get() != link) {
            continue;
        }
        if ((*one)->link().state() == Link::State::closed) {
            leaving_.erase(one);
            if (empty()) {
                owner_.on_links_gone();
            }
        }
        return;
    }
}

}  // namespace stage
