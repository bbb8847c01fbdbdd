// Receives one flow of the group, independently of all others.
//
// It has its own socket, buffers and counters, and shares nothing with the driver that it was
// taken from.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/udp/packet_slots.h"

namespace stage::udp {

class UdpFlow final : public FlowInbox {
  public:
    /// `slots`: in each set of buffers.
    UdpFlow(UniqueFd socket, std::size_t slots);

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
