// Sends and receives the datagrams of all hops of a member by its UDP socket.
#pragma once

#include "transport/base/address.h"
#include "transport/fabric/driver.h"
#include "transport/hop/hop_packet.h"
#include "transport/os/unique_fd.h"

#include <array>
#include <functional>
#include <vector>

namespace stage::hop {

class HopSocket {
  public:
    /// Datagrams of one call at most.
    static constexpr std::size_t kBatch = 64;

    explicit HopSocket(UniqueFd socket);

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    /// Calls `hear` for each datagram that has arrived, in a bounded batch. Returns their
    /// number.
    std::size_t receive(DriverCounters& counters,
                        const std::function<void(const Address& from, Bytes datagram)>& hear);
    /// Sends `bytes` as datagrams of `datagram_bytes`, the last of which may be shorter: at
    /// most kBatch. What the kernel does not take is lost; false if it has no room.
    bool send(DriverCounters& counters,
              const SocketAddress& to,
              Bytes bytes,
              std::size_t datagram_bytes);

  private:
    /// The error, or 0.
    [[nodiscard]] int send_together(const SocketAddress& to,
                                    Bytes bytes,
                                    std::size_t datagram_bytes);

    UniqueFd socket_;
    std::vector<std::array<std::byte, 2048>> slots_;
    bool segments_ = true;        ///< The kernel cuts a batch (UDP_SEGMENT).
    std::uint32_t overflow_ = 0;  ///< Datagrams for which the buffer had no room, so far.
};

/// Datagrams to one address that leave together, as long as they are of one size.
class DatagramBatch {
  public:
    /// All must outlive it.
    DatagramBatch(HopSocket& socket, DriverCounters& counters, const SocketAddress& to)
        : socket_{socket}, counters_{counters}, to_{to} {}

    /// Requires 1 to kLongDatagram bytes.
    void add(Bytes datagram);
    void leave();
    /// The kernel had no room for some.
    [[nodiscard]] bool is_refused() const { return is_refused_; }

  private:
    HopSocket& socket_;
    DriverCounters& counters_;
    const SocketAddress& to_;
    std::array<std::byte, 45 * kLongDatagram> room_;  ///< Below UDP's 65,507.
    std::size_t used_ = 0;
    std::size_t size_ = 0;  ///< The size of each but the last.
    bool is_refused_ = false;
};

}  // namespace stage::hop
