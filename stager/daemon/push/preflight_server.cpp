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

ExaminedMessage answer_of(const Result<WorkerLook>& look) {
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
    preflights_.push_back({.link = std::move(link),
                           .message = message,
                           .asker = nullptr,
                           .local = nullptr,
                           .pulse = nullptr});
    Preflight& preflight = preflights_.back();
    auto objection = objection_to_push(basics_.config, message.specs);
    if (!objection && preflights_.size() > kMaxPreflights) {
        objection = "too many pushes check this node at the same time; try again later";
    }
    if (objection) {
        begin_unless(objection, preflight);
        return;
    }
    preflight.pulse = std::make_unique<Alarm>(basics_.loop, [this, key] { pulse(key); });
    preflight.pulse->set(basics_.loop.now() + kPulseEvery);
    judge_source(preflight);
}

/// Uses Slurm's earlier answer if it fits: of many nodes that are asked few ask slurmctld.
void PreflightServer::judge_source(Preflight& preflight) {
    const PushSource source = source_of(preflight.link->link());
    const std::string address = resources_.addresses.of(source.node).value_or("");
    if (!needs_address(basics_.config, source) ||
        !objection_to_source(basics_.config, source, address)) {
        begin_unless(objection_to_source(basics_.config, source, address), preflight);
        return;
    }
    preflight.asker = std::make_unique<SlurmAsker>(basics_.loop, basics_.children);
    preflight.asker->ask(
        ResolveQuestion{.node_list = source.node, .may_miss = true},
        [this, key = preflight.link.get()](const auto& answer) { on_address(key, answer); });
}

void PreflightServer::on_address(const DrivenLink* link, const Result<SlurmAnswer>& answer) {
    const auto preflight = find(link);
    if (preflight == preflights_.end()) {
        return;
    }
    const PushSource source = source_of(preflight->link->link());
    const auto* nodes = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    std::string address;
    if (nodes != nullptr && nodes->size() == 1 && nodes->front().name == source.node) {
        address = nodes->front().address;
    }
    if (!address.empty()) {
        resources_.addresses.learn(source.node, address);
    }
    begin_unless(objection_to_source(basics_.config, source, address), *preflight);
}

void PreflightServer::begin_unless(const std::optional<std::string>& objection,
                                   Preflight& preflight) {
    const DrivenLink* key = preflight.link.get();
    const std::string& node = preflight.link->link().peer_name();
    if (objection) {
        basics_.log.info("refused a push", {{"node", node}, {"why", *objection}});
        on_done(key, Error{Blame::node, *objection});
        return;
    }
    const ExamineMessage& message = preflight.message;
    preflight.local = std::make_unique<LocalPreflight>(
        basics_,
        resources_.closers,
        PreflightOrder{.specs = message.specs,
                       .is_source = false,
                       .compares = message.mode == PushMode::compare,
                       .is_limited = false,
                       .manifest = message.manifest},
        [this, key](const Result<WorkerLook>& look) { on_done(key, look); });
}

std::list<PreflightServer::Preflight>::iterator PreflightServer::find(const DrivenLink* link) {
    return std::ranges::find_if(preflights_,
                                [&](const Preflight& one) { return one.link.get() == link; });
}

void PreflightServer::on_change(const DrivenLink* link) {
    const auto preflight = find(link);
    if (preflight == preflights_.end()) {
        return;
    }
    static_cast<void>(preflight->link->link().receive());  // The source has no more to send.
    if (preflight->link->link().state() == Link::State::closed) {
        preflights_.erase(preflight);
    }
}

void PreflightServer::on_done(const DrivenLink* link, const Result<WorkerLook>& look) {
    const auto preflight = find(link);
    if (preflight != preflights_.end()) {
        const ExamineMessage& asked = preflight->message;
        if (look && asked.mode == PushMode::push) {
            resources_.permits.grant({.token = asked.token,
                                      .source = preflight->link->link().peer_name(),
                                      .specs = asked.specs},
                                     basics_.loop.now());
        }
        preflight->pulse.reset();
        preflight->link->send(encode(TreeMessage{answer_of(look)}));
        preflight->link->finish();
        // Not within its own callback.
        basics_.loop.defer(
            [gone = std::shared_ptr<LocalPreflight>{std::move(preflight->local)},
             asker = std::shared_ptr<SlurmAsker>{std::move(preflight->asker)}] {});
    }
}

void PreflightServer::pulse(const DrivenLink* link) {
    const auto preflight = find(link);
    if (preflight != preflights_.end()) {
        preflight->link->send(encode(TreeMessage{PulseMessage{}}));
        preflight->pulse->set(basics_.loop.now() + kPulseEvery);
    }
}

}  // namespace stage
