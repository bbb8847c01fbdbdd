#include "transport/core/receiver/receiver_repairs.h"

#include "transport/core/base/repeater.h"

#include <algorithm>

namespace stage::core {

ReceiverRepairs::ReceiverRepairs(const CoreConfig& config, const Limits& limits, Prng& prng)
    : limits_{limits.repair},
      packet_bytes_{config.chunk_bytes + kWireOverheadBytes},
      puller_{config, limits, prng},
      descriptor_pull_{limits.repair} {
}

void ReceiverRepairs::on_first_pass(Instant now, Position place) {
    highest_received_.on_chunk(now, place);
    puller_.on_stream_packet(now);
}

void ReceiverRepairs::on_end(Instant now, std::uint32_t blocks) {
    if (!highest_received_.is_ended()) {
        highest_received_.on_end(now, blocks);
        puller_.on_end(now);
    }
}

void ReceiverRepairs::on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk) {
    if (open.asked.has(chunk)) {
        puller_.on_arrival(now, from, open, chunk);
    }
}

void ReceiverRepairs::on_describe(Instant now, Rank from, bool to_group) {
    descriptor_pull_.on_describe(from, to_group);
    puller_.look(now);
}

void ReceiverRepairs::on_lacking(
    Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map) {
    puller_.on_lacking(now, from, lacking, is_busy, map);
    descriptor_pull_.on_lacking(from, lacking.id);
}

void ReceiverRepairs::set_outside(Instant now, std::uint64_t bytes_per_s, bool is_swarm) {
    puller_.set_swarm(is_swarm);
    puller_.set_alone(now, bytes_per_s);
}

void ReceiverRepairs::poll(Instant now,
                           Reassembly& reassembly,
                           const StreamRate& stream,
                           ControlQueue& out) {
    const bool has_settled = highest_received_.advance(now, gap_age());
    const Position settled = highest_received_.settled();
    const bool is_ended = settled.block >= reassembly.map().blocks();
    // A look that can find nothing would wake a receiver twice as often as the stream does.
    const bool has_opened = reassembly.open_absent(settled, is_ended, puller_.is_swarm());
    if (has_opened || (has_settled && reassembly.map().lacks(settled))) {
        puller_.look(now, is_ended);
    }
    for (const BlockIndex block : reassembly.take_closed()) {
        puller_.forget(block);
    }
    descriptor_pull_.poll(now,
                          reassembly.descriptors(),
                          std::min(settled.block, reassembly.map().blocks()),
                          puller_,
                          out);
    puller_.on_stream(now, stream);
    puller_.poll(now, settled, reassembly.map(), out);
}

std::optional<Instant> ReceiverRepairs::deadline(const Reassembly& reassembly) const {
    return earlier(earlier(settling_deadline(reassembly), puller_.deadline()),
                   descriptor_pull_.deadline());
}

/// The age from which a gap is a loss: a quarter of an RTT, within bounds. Before an RTT is
/// known, being too quick costs one duplicate packet, and being too slow costs a small file its
/// time. Packets do not overtake more than a few others, however short these are.
Duration ReceiverRepairs::gap_age() const {
    const Duration least =
        std::min(limits_.gap_age_min,
                 puller_.time_of(limits_.gap_packets * std::uint64_t{packet_bytes_}));
    const RttEstimator& seen = puller_.round_trip();
    const Duration quarter = seen.is_known() ? seen.mean() / 4 : Duration::zero();
    return std::clamp(quarter, least, limits_.gap_age_max);
}

/// Where nothing is missing it does not matter when the place settles: the next packet settles
/// it. (Otherwise every burst of a stream woke its receivers three times more.)
std::optional<Instant> ReceiverRepairs::settling_deadline(const Reassembly& reassembly) const {
    const bool may_lack =
        !reassembly.has_begun() ||
        reassembly.map().lacks(highest_received_.settled(), highest_received_.highest());
    return may_lack ? highest_received_.deadline() : std::nullopt;
}

}  // namespace stage::core
