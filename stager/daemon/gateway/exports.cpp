#include "stager/daemon/gateway/exports.h"

#include "stager/control/push_key.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/legs/leg_plan.h"
#include "stager/daemon/push/push.h"
#include "stager/daemon/stage/push_rules.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/link/cluster_name.h"
#include "stager/link/link.h"
#include "stager/spec/spec_list.h"
#include "transport/base/log.h"

#include <ctime>
#include <utility>

namespace stage {
namespace {

constexpr Duration kPulseEvery = std::chrono::seconds{1};
/// The job's daemon makes room for the files meanwhile.
constexpr Duration kConsentMax = std::chrono::seconds{30};

/// With the groups that the user has now.
UserIdentity user_of(const ReadTicket& ticket) {
    UserIdentity user;
    user.uid = ticket.uid;
    return user;
}

std::vector<std::byte> refusal(const Error& why) {
    return encode(TreeMessage{ExportMessage{.blame = why.blame(), .sentence = why.sentence()}});
}

}  // namespace

std::optional<Error> objection_to_import(const std::string& specs,
                                         const ReadTicket& ticket,
                                         const std::string& own) {
    const auto asked = parse_serialized(specs);
    if (!asked) {
        return asked.error();
    }
    if (options_in(specs).cluster != own) {
        return Error{Blame::user, "this is cluster " + own};
    }
    for (const StageSpec& spec : *asked) {
        if (!is_of_leg(spec)) {
            return Error{Blame::user,
                         printable(spec.source) + ": is not sent to other clusters"};
        }
        if (!covers(ticket, spec.source)) {
            return Error{Blame::user, "the ticket is not for " + printable(spec.source)}.remedy(
                "get one by stagecast ticket, for this path or a directory above it");
        }
    }
    return std::nullopt;
}

Exports::Exports(Services& services, PushStages& stages, const Tickets& tickets)
    : services_{services}, basics_{services.basics}, stages_{stages}, tickets_{tickets} {
}

Result<ReadTicket> Exports::allowed(const ImportMessage& message,
                                    const std::string& source) const {
    if (!basics_.config.enabled) {
        return Error{Blame::node,
                     "staging is switched off there (Enabled=no in stagecast.conf)"};
    }
    const auto now = static_cast<std::uint64_t>(::time(nullptr));
    TRY(auto ticket,
        tickets_.open(
            options_in(message.specs).ticket, cluster_of(source), message.for_uid, now));
    if (auto why = objection_to_import(message.specs, ticket, basics_.config.cluster_name)) {
        return *std::move(why);
    }
    if (entries_.size() >= kMaxExports + kMaxWaitingExports) {
        return Error{Blame::node,
                     std::to_string(kMaxWaitingExports) +
                         " jobs of other clusters wait there for files already"}
            .remedy("submit again later");
    }
    return ticket;
}

void Exports::on_import(const ImportMessage& message, std::unique_ptr<DrivenLink> link) {
    const std::string source = link->link().peer_name();
    auto ticket = allowed(message, source);
    if (!ticket) {
        ++basics_.counters.messages_refused;
        basics_.log.warn(
            "refused files to a job of another cluster",
            {{"node", source}, {"uid", message.for_uid}, {"why", ticket.error().sentence()}});
        send_last(basics_.loop, std::move(link), refusal(ticket.error()));
        return;
    }
    const Place entry = entries_.insert(entries_.end(), Entry{});
    entry->message = message;
    entry->ticket = *std::move(ticket);
    entry->link = std::move(link);
    entry->link->set_on_change([this, entry] { on_change(entry); });
    entry->limit = std::make_unique<Alarm>(basics_.loop, [this, entry] { on_late(entry); });
    entry->pulse = std::make_unique<Alarm>(basics_.loop, [this, entry] {
        entry->link->send(encode(TreeMessage{PulseMessage{}}));
        entry->pulse->set(basics_.loop.now() + kPulseEvery);
    });
    entry->pulse->set(basics_.loop.now() + kPulseEvery);
    begin_waiting();
}

bool Exports::has_place(std::uint32_t uid) const {
    const auto begun = std::ranges::count_if(entries_, &Entry::has_begun);
    const auto of_user = std::ranges::count_if(
        entries_, [uid](const Entry& one) { return one.has_begun && one.ticket.uid == uid; });
    return begun < static_cast<std::ptrdiff_t>(kMaxExports) &&
           of_user < static_cast<std::ptrdiff_t>(kMaxExports / 2);
}

/// The first that came, of a user who may have one more. The job's daemon waits for as long as
/// it hears PULSEs and its stage has time.
void Exports::begin_waiting() {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (!entry->has_begun && !entry->is_over && has_place(entry->ticket.uid)) {
            begin(entry);
        }
    }
}

void Exports::begin(Place entry) {
    entry->has_begun = true;
    entry->look = std::make_unique<LocalPreflight>(
        basics_,
        services_.closers,
        PreflightOrder{
            .specs = entry->message.specs, .is_source = true, .user = user_of(entry->ticket)},
        [this, entry](const Result<WorkerLook>& look) { on_look(entry, look); });
}

void Exports::on_look(Place entry, const Result<WorkerLook>& look) {
    entry->pulse->set(std::nullopt);
    if (entry->is_over) {
        return;
    }
    if (!look) {
        send_last(basics_.loop, std::move(entry->link), refusal(look.error()));
        forget(entry);
        return;
    }
    entry->has_answered = true;
    entry->limit->set(basics_.loop.now() + kConsentMax);
    entry->link->send(encode(TreeMessage{ExportMessage{.blocks = look->blocks,
                                                       .object_bytes = look->object_bytes,
                                                       .identity = look->identity}}));
}

void Exports::on_change(Place entry) {
    if (entry->is_over) {
        return;
    }
    if (const auto frame = entry->link->link().receive()) {
        const auto message = decode_tree_message(*frame);
        if (message && entry->has_answered &&
            std::holds_alternative<ExaminedMessage>(*message)) {
            begin_leg(entry);
        } else {
            forget(entry);
        }
    } else if (entry->link->link().state() == Link::State::closed) {
        forget(entry);
    }
}

/// Its SETUP goes over the link by which the job's daemon has asked: that node need not be
/// reached from here.
void Exports::begin_leg(Place entry) {
    // A receiver that takes its time holds its place no longer than a job here could.
    entry->limit->set(basics_.loop.now() + basics_.config.stage_timeout);
    const std::string job_node = entry->link->link().peer_name();
    const std::string address = entry->link->link().address().host();
    const std::string own =
        name_in_cluster(basics_.config.cluster_name, own_node_name(services_.links));
    StagePlan plan = plan_of_leg(basics_.config,
                                 services_.ports,
                                 {.source = {own, ""}, .target = {job_node, address}},
                                 entry->message.specs,
                                 entry->message.token,
                                 0);
    const StageKey key = random_push_key();
    entry->leg = key;
    plan.digest = digest_of(request_of_push(key, plan, own));
    basics_.log.info("a job of another cluster gets files",
                     {{"node", job_node}, {"uid", entry->ticket.uid}});
    services_.dialer.adopt(job_node, address, std::move(entry->link));
    stages_.push(
        key,
        plan,
        RunPassage{
            .file = nullptr, .purpose = WorkerPurpose::lend, .user = user_of(entry->ticket)},
        [this, entry, job_node](const Verdict& verdict) {
            basics_.log.info("files were sent to a job of another cluster",
                             {{"node", job_node},
                              {"why", is_failure(verdict.state) ? verdict.sentence : ""}});
            forget(entry);
        });
}

/// The time for the job's consent, or for the leg, is over.
void Exports::on_late(Place entry) {
    Stage* const leg = entry->leg ? stages_.find(*entry->leg) : nullptr;
    if (leg != nullptr && leg->is_open()) {
        leg->break_off("it took longer than StageTimeout of the gateway");
    } else {
        forget(entry);
    }
}

/// Not within a callback of its parts.
void Exports::forget(Place entry) {
    if (std::exchange(entry->is_over, true)) {
        return;
    }
    if (entry->link) {
        entry->link->set_on_change([] {});
    }
    entry->limit->set(std::nullopt);
    entry->pulse->set(std::nullopt);
    basics_.loop.defer([this, entry] {
        entries_.erase(entry);
        begin_waiting();
    });
}

}  // namespace stage
