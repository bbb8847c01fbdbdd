// How is one lane of the group received, apart from all others?
//
// Its own socket, buffers and counters: nothing here is shared with the driver that it was
// taken from.
#pragma once

#include "transport/base/unique_fd.h"
#include "transport/udp/packet_slots.h"

namespace stage::udp {

class UdpLane final : public LaneInbox {
  public:
    /// `slots` in each set of buffers.
    UdpLane(UniqueFd socket, std::size_t slots);

    Status receive(std::size_t set, std::vector<ReceivedPacket>& packets) override;
    [[nodiscard]] int descriptor() const override { return owner_.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }

  private:
    UniqueFd owner_;
    ReadSocket socket_;
    std::vector<PacketSlots> sets_;
    std::uint32_t receives_ = 0;
    DriverCounters counters_;
};

}  // namespace stage::udp
