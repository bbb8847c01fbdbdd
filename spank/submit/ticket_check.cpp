#include "spank/submit/ticket_check.h"

#include "stager/control/message.h"
#include "stager/spec/ticket.h"

#include <algorithm>

namespace stage {
namespace {

std::string how_to_get(const TicketUse& use, const StageSpec& spec) {
    const std::string own = use.cluster.empty() ? "CLUSTER" : std::string{use.cluster};
    return "run 'stagecast ticket --cluster=" + own + " --uid=" + std::to_string(use.uid) +
           " " + printable(spec.source) + "' in cluster " + spec.cluster +
           ", and give what it prints as --stage-ticket";
}

}  // namespace

Result<std::string> cluster_of_all(std::span<const StageSpec> specs) {
    const auto other = std::ranges::find_if(
        specs, [&](const StageSpec& spec) { return spec.cluster != specs.front().cluster; });
    if (other != specs.end()) {
        return Error{Blame::user,
                     printable(specs.front().source) + " and " + printable(other->source) +
                         " lie in different clusters"}
            .remedy(
                "stage those of one cluster with the job, and the others with a step of "
                "it (srun --stage-file)");
    }
    return specs.empty() ? std::string{} : specs.front().cluster;
}

Status check_ticket(const TicketUse& use, std::span<const StageSpec> specs) {
    const StageSpec& first = specs.front();
    if (use.text.empty()) {
        return Error{Blame::user,
                     "files of cluster " + first.cluster + " need a ticket from there"}
            .remedy(how_to_get(use, first));
    }
    const auto parsed = parse_ticket(use.text);
    if (!parsed) {
        return parsed.error();
    }
    const ReadTicket& ticket = parsed->ticket;
    const bool is_ours =
        (use.cluster.empty() || ticket.cluster == use.cluster) && ticket.for_uid == use.uid;
    if (!is_ours) {
        return Error{Blame::user,
                     "the ticket is for user " + std::to_string(ticket.for_uid) +
                         " of cluster " + ticket.cluster + ", not for you here"}
            .remedy(how_to_get(use, first));
    }
    if (ticket.expires <= use.now) {
        return Error{Blame::user, "the ticket has expired"}.remedy(how_to_get(use, first));
    }
    for (const StageSpec& spec : specs) {
        if (!covers(ticket, spec.source)) {
            return Error{Blame::user, "the ticket is not for " + printable(spec.source)}.remedy(
                how_to_get(use, spec) + " (a colon in a name is written '\\:')");
        }
    }
    return {};
}

}  // namespace stage
