// Carries trains of packets over one TCP connection.
//
// A train is a frame: bytes u32 | packet_bytes u32, then its packets, each packet_bytes long
// but the last; or, if packet_bytes is 0, filling, which is skipped. A packet is delivered as
// soon as it is whole. What the kernel does not take of a frame waits here, in memory that is
// bounded because a sender waits until it has left. So does what is sent before there is a
// socket.
#pragma once

#include "transport/fabric/driver.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stage::tcp {

class TcpConnection {
  public:
    static constexpr std::size_t kFrameHeaderBytes = 8;

    /// `packet_bytes_max`: a longer packet ends the connection. 0: no packet but a short first
    /// one is read until trust(). Without a socket it waits for open().
    TcpConnection(UniqueFd socket, std::size_t packet_bytes_max);
    void open(UniqueFd socket) { socket_ = std::move(socket); }

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    /// True if the peer, or a host on the way, ended the connection by a reset.
    [[nodiscard]] bool was_reset() const { return was_reset_; }
    [[nodiscard]] bool has_socket() const { return socket_.get() >= 0; }
    /// True if it has received anything.
    [[nodiscard]] bool is_heard() const { return is_heard_; }
    /// True if writability is to be awaited.
    [[nodiscard]] bool wants_to_write() const { return !has_socket() || !is_drained(); }
    [[nodiscard]] bool is_drained() const { return waiting_from_ == waiting_.size(); }

    /// The packets delivered by the last read() are no longer needed.
    void forget_packets();
    /// Reads what has arrived, at most one buffer full, and appends the whole packets. False if
    /// the connection ended.
    [[nodiscard]] bool read(std::vector<ReceivedPacket>& packets);
    /// Ends it; the packets that it delivered stay.
    void close() { socket_.reset(); }
    /// The first packet was proved: reads what follows.
    void trust(std::size_t packet_bytes_max) { packet_bytes_max_ = packet_bytes_max; }

    /// Sends the train, or keeps what the kernel does not take. False if the connection ended.
    [[nodiscard]] bool send(const Train& train);
    /// Sends what was kept, once the socket is writable. False if the connection ended.
    [[nodiscard]] bool flush();

  private:
    [[nodiscard]] std::size_t wanted_bytes() const;
    [[nodiscard]] bool cut(std::vector<ReceivedPacket>& packets);
    void keep(std::span<const Bytes> pieces, std::size_t sent);

    UniqueFd socket_;
    std::size_t packet_bytes_max_;
    std::unique_ptr<std::byte[]> room_;
    std::size_t filled_ = 0;
    std::size_t cut_ = 0;  ///< Up to here it was delivered.
    bool is_heard_ = false;
    bool was_reset_ = false;
    bool has_first_ = false;      ///< A packet was delivered.
    std::size_t frame_left_ = 0;  ///< Bytes of the present frame not yet delivered.
    std::size_t packet_bytes_ = 0;
    std::vector<std::byte> waiting_;
    std::size_t waiting_from_ = 0;
};

}  // namespace stage::tcp
