#include "transport/seal/flow_seal.h"

namespace stage::seal {

FlowSeal::FlowSeal(const FlowKeys& keys) : keys_{keys}, demux_{seal::demux(keys.session)} {
    source_.prepare(PacketCipher{keys_.protection, key_of(0), PacketCipher::Direction::open},
                    0);
}

PacketKey FlowSeal::key_of(std::uint32_t epoch) const {
    return derive(keys_.group,
                  keys_.session,
                  {.rank = keys_.source, .incarnation = keys_.incarnation, .epoch = epoch});
}

std::optional<Opened> FlowSeal::open(MutableBytes packet, std::uint64_t heard) {
    const std::size_t tag = tag_bytes(keys_.protection);
    auto header = screened(
        packet, {.demux = demux_, .version = keys_.version, .tag_bytes = tag}, counters_);
    if (!header) {
        return std::nullopt;
    }
    if (header->flow != keys_.flow) {
        ++counters_.malformed;
        return std::nullopt;
    }
    if (header->rank != keys_.source) {
        ++counters_.unknown_rank;
        return std::nullopt;
    }
    if (header->is_data()) {
        header->packet_number =
            wire::expand(std::max(source_.largest(), heard),
                         static_cast<std::uint16_t>(header->packet_number & 0xffffU));
    }
    const MutableBytes body =
        packet.subspan(wire::kHeaderBytes, packet.size() - wire::kHeaderBytes - tag);
    if (!source_.open(keys_.protection, *header, packet, body, [this](std::uint32_t epoch) {
            return key_of(epoch);
        })) {
        ++counters_.forged;
        return std::nullopt;
    }
    source_.note(header->packet_number);
    return Opened{.header = *header, .body = body};
}

}  // namespace stage::seal
