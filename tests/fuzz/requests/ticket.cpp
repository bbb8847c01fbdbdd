// Fuzzes tickets: one that is taken apart keeps all rules, and is written in one way.
#include "stager/spec/ticket.h"

#include "stager/spec/stage_spec.h"
#include "tests/fuzz/fuzz.h"

namespace stage {

bool fuzz_one(Bytes input) {
    const auto parsed = parse_ticket(text_of(input));
    if (!parsed) {
        return false;
    }
    const ReadTicket& ticket = parsed->ticket;
    invariant(is_cluster_name(ticket.cluster), "a ticket is for a cluster");
    invariant(!ticket.paths.empty() && ticket.paths.size() <= kMaxTicketPaths,
              "a ticket is for some files");
    for (const std::string& path : ticket.paths) {
        invariant(is_plain_path(path) && covers(ticket, path), "a ticket covers its paths");
        invariant(!covers(ticket, path + "x") || ticket.paths.size() > 1,
                  "a ticket covers no neighbour");
    }
    invariant(body_of(ticket) == parsed->body, "a ticket is written in one way");
    invariant(ticket_text(parsed->body, parsed->code) == text_of(input),
              "a ticket is written in one way");
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const ReadTicket ticket{.uid = 2001,
                            .cluster = "b",
                            .for_uid = 2001,
                            .expires = 1,
                            .paths = {"/data/x", "/data/tree"}};
    const std::vector<std::byte> code(kTicketCodeBytes);
    return {{"plain", owned(ticket_text(body_of(ticket), code))}};
}

}  // namespace stage
