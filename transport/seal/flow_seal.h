// Opens the packets of one flow on a thread of its own.
//
// Only the source sends to the group, so a flow has one sender: its cipher, and the largest of
// its packet numbers that arrived this way. Packets are opened in place. Replays are not
// detected here: one window covers all flows and unicast together (SessionSeal::admit), because
// a packet of one flow could be replayed on another (docs/protocol, 2.3 and 2.4).
#pragma once

#include "transport/seal/sender_opening.h"

namespace stage::seal {

struct FlowKeys {
    Protection protection = Protection::encrypt;
    GroupKey group{};
    SessionId session{};
    std::uint8_t version = wire::kVersionHighest;
    Rank source;
    Incarnation incarnation{};  ///< The source's.
    Flow flow;
};

class FlowSeal {
  public:
    /// Derives the source's first key before a packet waits for it.
    explicit FlowSeal(const FlowKeys& keys);

    /// Opens a whole packet in place. `heard` is the largest number of the source that arrived
    /// on any flow: a flow that was silent for long expands its numbers from there. Empty, and
    /// counted, if the packet is not this session's, flow's or source's.
    [[nodiscard]] std::optional<Opened> open(MutableBytes packet, std::uint64_t heard);

    [[nodiscard]] const SealCounters& counters() const { return counters_; }

  private:
    [[nodiscard]] PacketKey key_of(std::uint32_t epoch) const;

    FlowKeys keys_;
    std::uint32_t demux_;
    SenderOpening source_;
    SealCounters counters_;
};

}  // namespace stage::seal
