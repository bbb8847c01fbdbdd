// Finds out what a receiver misses and requests it.
//
// The source's packets show how far the stream is (highest_received.h); what is missing before
// that is requested from peers (puller.h), and so are unknown descriptors (descriptor_pull.h).
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/highest_received.h"
#include "transport/core/base/limits.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/repair/descriptor_pull.h"
#include "transport/core/repair/puller.h"

#include <optional>

namespace stage::core {

class ReceiverRepairs {
  public:
    /// `prng` must outlive this.
    ReceiverRepairs(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// A chunk of the first pass arrived.
    void on_first_pass(Instant now, Position place);
    /// The source has sent everything before `place`.
    void on_sent(Instant now, Position place) { highest_received_.on_sent(now, place); }
    /// The first pass of an object of `blocks` is over.
    void on_end(Instant now, std::uint32_t blocks);
    /// The open block got this chunk.
    void on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk);
    void on_describe(Instant now, Rank from, bool to_group);
    void on_lacking(
        Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map);

    /// This member is outside the group and fetches the object, this fast; 0: it is not.
    void set_outside(Instant now, std::uint64_t bytes_per_s, bool is_swarm);
    void set_swarm(bool is_swarm) { puller_.set_swarm(is_swarm); }

    /// Opens blocks that are missing and requests their chunks.
    void poll(Instant now, Reassembly& reassembly, const StreamRate& stream, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline(const Reassembly& reassembly) const;

    [[nodiscard]] const HighestReceived& highest_received() const { return highest_received_; }
    /// At which peers' answers may arrive, and at which this member may answer.
    [[nodiscard]] std::uint64_t rate_bytes_per_s() const { return puller_.rate_bytes_per_s(); }

  private:
    [[nodiscard]] Duration gap_age() const;
    [[nodiscard]] std::optional<Instant> settling_deadline(const Reassembly& reassembly) const;

    RepairLimits limits_;
    std::uint32_t packet_bytes_;
    HighestReceived highest_received_;
    Puller puller_;
    DescriptorPull descriptor_pull_;
};

}  // namespace stage::core
