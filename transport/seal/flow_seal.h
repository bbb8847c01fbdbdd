// How does a thread of its own open what comes on one flow?
//
// Only the source sends to the group, so a flow has one sender: its cipher, and the largest of
// its numbers that came this way. Packets are opened in place. Of replays it knows nothing: one
// window judges all flows and what comes by unicast together (SessionSeal::admit), or a packet
// of one flow could be sent again on another. docs/protocol, 2.3 and 2.4.
#pragma once

#include "transport/seal/sender_opening.h"

namespace stage::seal {

struct FlowKeys {
    Protection protection = Protection::encrypt;
    GroupKey group{};
    SessionId session{};
    Rank source;
    Incarnation incarnation{};  ///< The source's.
    Flow flow;
};

class FlowSeal {
  public:
    /// Makes the source's first key before a packet waits for it.
    explicit FlowSeal(const FlowKeys& keys);

    /// Opens a whole packet in place. `heard` is the largest number of the source that came on
    /// any flow: a flow that was silent for long counts on from there. Nothing if it is not
    /// this session's, not this flow's or not the source's: counted.
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
