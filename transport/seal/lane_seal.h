// How does a thread of its own open what comes on one lane?
//
// Only the source sends to the group, so a lane has one sender: its cipher, and the largest of
// its numbers that came this way. Packets are opened in place. Of replays it knows nothing: one
// window judges all lanes and what comes by unicast together (SessionSeal::admit), or a packet
// of one lane could be sent again on another. docs/protocol, 2.3 and 2.4.
#pragma once

#include "transport/seal/sender_opening.h"

namespace stage::seal {

struct LaneKeys {
    Protection protection = Protection::encrypt;
    GroupKey group{};
    SessionId session{};
    Rank source;
    Incarnation incarnation{};  ///< The source's.
    Lane lane;
};

class LaneSeal {
  public:
    /// Makes the source's first key before a packet waits for it.
    explicit LaneSeal(const LaneKeys& keys);

    /// Opens a whole packet in place. `heard` is the largest number of the source that came on
    /// any lane: a lane that was silent for long counts on from there. Nothing if it is not
    /// this session's, not this lane's or not the source's: counted.
    [[nodiscard]] std::optional<Opened> open(MutableBytes packet, std::uint64_t heard);

    [[nodiscard]] const SealCounters& counters() const { return counters_; }

  private:
    [[nodiscard]] PacketKey key_of(std::uint32_t epoch) const;

    LaneKeys keys_;
    std::uint32_t demux_;
    SenderOpening source_;
    SealCounters counters_;
};

}  // namespace stage::seal
