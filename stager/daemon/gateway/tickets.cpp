#include "stager/daemon/gateway/tickets.h"

#include "stager/daemon/gateway/ticket_code.h"
#include "stager/spec/stage_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace stage {
namespace {

constexpr const char* kNoKey =
    "TicketKey in this node's stagecast.conf is empty or unfit, so no files of this cluster "
    "are "
    "sent to others' jobs";

std::uint64_t in_seconds(Duration time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

}  // namespace

Tickets::Tickets(const Config& config, const Logger& log) : config_{config}, log_{log} {
    reread();
}

void Tickets::reread() {
    key_.reset();
    if (config_.ticket_key.empty()) {
        return;
    }
    auto key = read_shared_key(config_.ticket_key, {.name = "TicketKey"});
    if (key) {
        key_.emplace(*std::move(key));
    } else {
        log_.error("no ticket is issued or taken", {{"why", key.error().sentence()}});
    }
}

std::optional<Error> Tickets::objection_to(std::uint32_t uid,
                                           const TicketRequest& request) const {
    if (!key_) {
        return Error{Blame::node, kNoKey}.remedy("ask on another node, or its administrator");
    }
    if (uid == 0) {
        return Error{Blame::user, "root's files are pushed, not sent to jobs"};
    }
    if (request.for_uid == 0) {
        return Error{Blame::user, "root has no jobs; name the user's uid there"};
    }
    const bool is_known =
        config_.cluster_keys.empty() ||
        std::ranges::find(config_.cluster_keys, request.cluster, &NamedText::name) !=
            config_.cluster_keys.end();
    if (!is_cluster_name(request.cluster) || !is_known) {
        return Error{Blame::user, "no cluster " + printable(request.cluster) + " is known here"}
            .remedy("see ClusterKeys in stagecast.conf for the names");
    }
    if (!std::ranges::all_of(request.paths, is_plain_path)) {
        return Error{Blame::user, "a ticket is for absolute paths without //, . and .."};
    }
    return std::nullopt;
}

Answer Tickets::issue(std::uint32_t uid,
                      const TicketRequest& request,
                      std::uint64_t now) const {
    if (const auto why = objection_to(uid, request)) {
        return Refused{.blame = why->blame(), .sentence = why->sentence()};
    }
    const std::uint64_t most = in_seconds(config_.ticket_lifetime);
    const std::uint64_t wanted = request.lifetime_s;
    if (wanted > most) {
        return Refused{.blame = Blame::user,
                       .sentence = "a ticket is good for at most " + std::to_string(most) +
                                   " s here (TicketLifetime)"};
    }
    const ReadTicket ticket{.uid = uid,
                            .cluster = request.cluster,
                            .for_uid = request.for_uid,
                            .expires = now + (wanted > 0 ? wanted : most),
                            .paths = request.paths};
    auto text = sealed_ticket(*key_, ticket);
    if (!text) {
        return Refused{.blame = text.error().blame(), .sentence = text.error().sentence()};
    }
    const nlohmann::json report{{"ticket", *text}, {"expires", ticket.expires}};
    return Report{report.dump()};
}

Result<ReadTicket> Tickets::open(std::string_view text,
                                 std::string_view cluster,
                                 std::uint32_t for_uid,
                                 std::uint64_t now) const {
    if (!key_) {
        return Error{Blame::node, kNoKey};
    }
    if (text.empty()) {
        return Error{Blame::user, "the job has no ticket"}.remedy(
            "get one by stagecast ticket there, and submit with --stage-ticket");
    }
    TRY(auto ticket, opened_ticket(*key_, text));
    if (ticket.cluster != cluster || ticket.for_uid != for_uid) {
        return Error{Blame::user,
                     "the ticket is for user " + std::to_string(ticket.for_uid) +
                         " of cluster " + ticket.cluster + ", and the job is user " +
                         std::to_string(for_uid) + "'s of cluster " + std::string{cluster}}
            .remedy("get one by stagecast ticket --cluster=CLUSTER --uid=UID");
    }
    if (ticket.expires + in_seconds(config_.stage_timeout) <= now) {
        return Error{Blame::user, "the ticket has expired"}.remedy(
            "get a new one by stagecast ticket, and submit the job with it");
    }
    return ticket;
}

}  // namespace stage
