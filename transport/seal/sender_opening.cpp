#include "transport/seal/sender_opening.h"

namespace stage::seal {

std::optional<wire::Header> screened(Bytes packet,
                                     const SessionMarks& session,
                                     SealCounters& counters) {
    wire::HeaderFault fault{};
    auto header = wire::read_header(packet, fault);
    if (!header || header->version != session.version ||
        packet.size() < wire::kHeaderBytes + session.tag_bytes) {
        ++counters.malformed;
        return std::nullopt;
    }
    if (header->session != session.demux) {
        ++counters.other_session;
        return std::nullopt;
    }
    return header;
}

}  // namespace stage::seal
