#include "transport/seal/sender_opening.h"

namespace stage::seal {

std::optional<wire::Header> screened(Bytes packet,
                                     std::uint32_t demux,
                                     std::size_t tag_bytes,
                                     SealCounters& counters) {
    wire::HeaderFault fault{};
    auto header = wire::read_header(packet, fault);
    if (!header || packet.size() < wire::kHeaderBytes + tag_bytes) {
        ++counters.malformed;
        return std::nullopt;
    }
    if (header->session != demux) {
        ++counters.other_session;
        return std::nullopt;
    }
    return header;
}

}  // namespace stage::seal
