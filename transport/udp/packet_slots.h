// How does one call bring many packets out of a UDP socket?
//
// By recvmmsg with UDP_GRO, up to 64 KB a slot, cut into packets here. A slot's pages are taken
// as packets need them: few do in a small broadcast.
#pragma once

#include "transport/run/driver.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace stage::udp {

/// A socket's refusal that another packet may not meet: losing it is what the protocol is for.
/// An interface, a route or an address that is gone may return, and so may a firewall's
/// consent; silence is for the protocol to judge. Only a socket that is none any more is none
/// of these.
[[nodiscard]] bool is_loss(int cause);
/// Nothing there, or no room, just now.
[[nodiscard]] bool is_full(int cause);

/// Has the kernel give pieces, and say when each came.
void tune_to_receive(int socket);

/// A socket that is read, and what was seen of it so far.
struct ReadSocket {
    int fd = -1;
    bool is_group = false;
    std::uint32_t overflow = 0;  ///< That the kernel told of.
    std::uint64_t bytes = 0;     ///< That the kernel held for it when it was looked at.
};

/// What the kernel holds for the socket now; the counters' fill is the group's.
void look_at(ReadSocket& socket, DriverCounters& counters);

class PacketSlots {
  public:
    explicit PacketSlots(std::size_t count);
    ~PacketSlots();
    PacketSlots(PacketSlots&&) noexcept;
    PacketSlots& operator=(PacketSlots&&) noexcept;
    PacketSlots(const PacketSlots&) = delete;
    PacketSlots& operator=(const PacketSlots&) = delete;

    /// What the slots hold is needed no more.
    void clear() { used_ = 0; }
    [[nodiscard]] std::size_t free() const;

    /// Appends what one call brings into at most `room` free slots, and counts.
    Status fill(ReadSocket& socket,
                std::size_t room,
                DriverCounters& counters,
                std::vector<ReceivedPacket>& packets);

  private:
    /// One receive buffer of the kernel's largest answer, and where its ancillary data goes.
    struct Slot;

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace stage::udp
