#include "stager/spec/ticket.h"

#include "stager/control/message.h"
#include "stager/spec/stage_spec.h"
#include "transport/base/fields.h"
#include "transport/base/hex.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint8_t kVersion = 1;

void fields(auto& on, Like<ReadTicket> auto& ticket) {
    on.number(ticket.uid).text(ticket.cluster, kMaxClusterNameBytes);
    on.number(ticket.for_uid).number(ticket.expires);
    on.template list<std::uint16_t>(ticket.paths, kMaxTicketPaths, [](auto& each, auto& path) {
        each.text(path, kMaxPathBytes).require(is_plain_path(path));
    });
    on.require(is_cluster_name(ticket.cluster) && !ticket.paths.empty());
}

Error malformed() {
    return Error{Blame::user, "the ticket is damaged"}.remedy(
        "give what stagecast ticket has printed, as a whole");
}

}  // namespace

bool covers(const ReadTicket& ticket, std::string_view path) {
    return std::ranges::any_of(ticket.paths, [path](const std::string& allowed) {
        return path.starts_with(allowed) &&
               (path.size() == allowed.size() || path[allowed.size()] == '/');
    });
}

std::vector<std::byte> body_of(const ReadTicket& ticket) {
    ByteWriter writer;
    FieldWriter on{writer.u8(kVersion)};
    fields(on, ticket);
    return writer.take();
}

std::string ticket_text(Bytes body, Bytes code) {
    return to_hex(body) + to_hex(code);
}

Result<TicketText> parse_ticket(std::string_view text) {
    const std::size_t digits = 2 * kTicketCodeBytes;
    if (text.size() <= digits || text.size() > kMaxTicketText || text.size() % 2 != 0) {
        return malformed();
    }
    TicketText parsed;
    parsed.body.resize((text.size() - digits) / 2);
    parsed.code.resize(kTicketCodeBytes);
    if (!from_hex(text.substr(0, text.size() - digits), parsed.body) ||
        !from_hex(text.substr(text.size() - digits), parsed.code)) {
        return malformed();
    }
    ByteReader reader{parsed.body};
    if (reader.u8() != kVersion) {
        return Error{Blame::user, "the ticket is of another release of stagecast"}.remedy(
            "install the same one in both clusters");
    }
    FieldReader on{reader};
    fields(on, parsed.ticket);
    if (!reader.finished()) {
        return malformed();
    }
    return parsed;
}

}  // namespace stage
