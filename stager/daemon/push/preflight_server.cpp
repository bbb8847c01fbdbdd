#include "stager/daemon/push/preflight_server.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/stage/push_permits.h"
#include "stager/daemon/stage/push_rules.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr Duration kPulseEvery = std::chrono::seconds{1};

ExaminedMessage told_of(const Result<WorkerLook>& look) {
    return look
               ? ExaminedMessage{.sentence = {}, .bytes = look->bytes, .digest = look->digest}
               : ExaminedMessage{.sentence = look.error().sentence(), .bytes = 0, .digest = {}};
}

PushSource source_of(const Link& link) {
    return {.node = link.peer_name(), .address = link.address().ip};
}

}  // namespace

void PreflightServer::on_examine(const ExamineMessage& message,
                                 std::unique_ptr<DrivenLink> link) {
    const DrivenLink* key = link.get();
    link->set_on_change([this, key] { on_change(key); });
    guests_.push_back({.link = std::move(link),
                       .message = message,
                       .asker = nullptr,
                       .examination = nullptr,
                       .pulse = nullptr});
    Guest& guest = guests_.back();
    auto objection = objection_to_push(services_.config, message.specs);
    if (!objection && guests_.size() > kMaxExaminations) {
        objection = "too many pushes at one time; try again";
    }
    if (objection) {
        begin_unless(objection, guest);
        return;
    }
    guest.pulse = std::make_unique<Alarm>(services_.loop, [this, key] { pulse(key); });
    guest.pulse->set(services_.loop.now() + kPulseEvery);
    judge_source(guest);
}

/// By what Slurm said before, if that fits: of many nodes that are asked few ask slurmctld.
void PreflightServer::judge_source(Guest& guest) {
    const PushSource source = source_of(guest.link->link());
    const auto known = services_.addresses.find(source.node);
    const std::string address = known != services_.addresses.end() ? known->second : "";
    if (!needs_address(services_.config, source) ||
        !objection_to_source(services_.config, source, address)) {
        begin_unless(objection_to_source(services_.config, source, address), guest);
        return;
    }
    guest.asker = std::make_unique<SlurmAsker>(services_);
    guest.asker->ask(
        ResolveQuestion{.node_list = source.node, .may_miss = true},
        [this, key = guest.link.get()](const auto& answer) { on_address(key, answer); });
}

void PreflightServer::on_address(const DrivenLink* link, const Result<SlurmAnswer>& answer) {
    const auto guest = find(link);
    if (guest == guests_.end()) {
        return;
    }
    const PushSource source = source_of(guest->link->link());
    const auto* nodes = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    std::string address;
    if (nodes != nullptr && nodes->size() == 1 && nodes->front().name == source.node) {
        address = nodes->front().address;
    }
    if (!address.empty()) {
        services_.addresses[source.node] = address;
    }
    begin_unless(objection_to_source(services_.config, source, address), *guest);
}

void PreflightServer::begin_unless(const std::optional<std::string>& objection, Guest& guest) {
    const DrivenLink* key = guest.link.get();
    const std::string& node = guest.link->link().peer_name();
    if (objection) {
        services_.log.info("a push is refused", {{"node", node}, {"why", *objection}});
        on_done(key, Error{Blame::node, *objection});
        return;
    }
    const ExamineMessage& message = guest.message;
    guest.examination = std::make_unique<LocalPreflight>(
        services_,
        PreflightOrder{.specs = message.specs,
                       .is_source = false,
                       .compares = message.mode == PushMode::compare,
                       .manifest = message.manifest},
        [this, key](const Result<WorkerLook>& look) { on_done(key, look); });
}

std::list<PreflightServer::Guest>::iterator PreflightServer::find(const DrivenLink* link) {
    return std::ranges::find_if(guests_,
                                [&](const Guest& one) { return one.link.get() == link; });
}

void PreflightServer::on_change(const DrivenLink* link) {
    const auto guest = find(link);
    if (guest == guests_.end()) {
        return;
    }
    static_cast<void>(guest->link->link().receive());  // Nothing is left to say.
    if (guest->link->link().state() == Link::State::closed) {
        guests_.erase(guest);
    }
}

void PreflightServer::on_done(const DrivenLink* link, const Result<WorkerLook>& look) {
    const auto guest = find(link);
    if (guest != guests_.end()) {
        const ExamineMessage& asked = guest->message;
        if (look && asked.mode == PushMode::push) {
            services_.push_permits.grant({.token = asked.token,
                                          .source = guest->link->link().peer_name(),
                                          .specs = asked.specs},
                                         services_.loop.now());
        }
        guest->pulse.reset();
        guest->link->send(encode(TreeMessage{told_of(look)}));
        guest->link->finish();
        // Not from within its own callback.
        services_.loop.defer(
            [gone = std::shared_ptr<LocalPreflight>{std::move(guest->examination)},
             asker = std::shared_ptr<SlurmAsker>{std::move(guest->asker)}] {});
    }
}

void PreflightServer::pulse(const DrivenLink* link) {
    const auto guest = find(link);
    if (guest != guests_.end()) {
        guest->link->send(encode(TreeMessage{PulseMessage{}}));
        guest->pulse->set(services_.loop.now() + kPulseEvery);
    }
}

}  // namespace stage
