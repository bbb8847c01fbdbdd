// Reads many packets from a UDP socket with one call.
//
// It uses recvmmsg with UDP_GRO, up to 64 KB in a slot, and cuts them into packets. A slot's
// pages are allocated as packets need them, which are few in a small broadcast.
#pragma once

#include "transport/fabric/driver.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace stage::udp {

/// True for errors of a socket that another packet may not meet, so that they count as loss,
/// which the protocol repairs. An interface, a route or an address may return, and so may a
/// firewall's permission; long silence is judged by the protocol. False only if the socket
/// itself is of no use any more.
[[nodiscard]] bool is_loss(int cause);
/// True if nothing can be read, or there is no room, at the moment.
[[nodiscard]] bool is_full(int cause);

/// Makes the kernel deliver packets in pieces (UDP_GRO) and stamp their arrivals.
void tune_to_receive(int socket);

/// A socket that is read, and what was seen of it so far.
struct ReadSocket {
    int fd = -1;
    bool is_group = false;
    std::uint32_t overflow = 0;  ///< Dropped packets that the kernel has reported.
    std::uint64_t bytes = 0;     ///< Bytes that the kernel held for it at the last look.
};

/// Updates what the kernel holds for the socket; the counters' fill is the group's.
void look_at(ReadSocket& socket, DriverCounters& counters);

class PacketSlots {
  public:
    explicit PacketSlots(std::size_t count);
    ~PacketSlots();
    PacketSlots(PacketSlots&&) noexcept;
    PacketSlots& operator=(PacketSlots&&) noexcept;
    PacketSlots(const PacketSlots&) = delete;
    PacketSlots& operator=(const PacketSlots&) = delete;

    /// The contents of the slots are no longer needed.
    void clear() { used_ = 0; }
    [[nodiscard]] std::size_t free() const;

    /// Reads with one call into at most `room` free slots, and counts.
    Status fill(ReadSocket& socket,
                std::size_t room,
                DriverCounters& counters,
                std::vector<ReceivedPacket>& packets);

  private:
    /// A receive buffer for one piece, with its ancillary data.
    struct Slot;

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace stage::udp
