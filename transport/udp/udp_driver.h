// How do a session's packets cross UDP?
//
// Trains leave by one sendmsg with UDP_SEGMENT (GSO: the kernel or the NIC cuts them into
// packets), and arrive by recvmmsg with UDP_GRO, up to 64 KB a piece: per-packet system calls
// are what makes others slow (DESIGN.md, section 8). Where the kernel or the path refuses
// segmentation, packets are sent one by one in one sendmmsg.
#pragma once

#include "transport/base/address.h"
#include "transport/base/unique_fd.h"
#include "transport/run/driver.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <vector>

namespace stage::udp {

struct UdpEndpoints {
    UniqueFd group;                ///< See open_group_socket(); read only.
    UniqueFd peer;                 ///< See open_peer_socket(); read and written.
    Address group_address;         ///< Where the group hears.
    std::vector<Address> members;  ///< By rank: where each member's peer socket is bound.
};

class UdpDriver final : public Driver {
  public:
    explicit UdpDriver(UdpEndpoints endpoints);
    ~UdpDriver() override;

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    Result<std::size_t> send_together(std::span<const Train> trains) override;
    [[nodiscard]] std::vector<int> descriptors() const override;
    [[nodiscard]] int stream_descriptor() const override { return endpoints_.group.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "udp"; }

  private:
    /// One receive buffer of the kernel's largest answer, and where its ancillary data goes.
    struct Slot;

    Status receive_from(int socket, bool is_group, std::vector<ReceivedPacket>& packets);
    void split(const Slot& slot,
               MutableBytes bytes,
               bool is_group,
               std::vector<ReceivedPacket>& packets);
    void look_at(bool is_group);
    void look_behind(bool is_batch_full);
    [[nodiscard]] const SocketAddress& target_of(const Train& train) const;
    void count_sent(const Train& train);
    Result<Sent> send_segmented(const Train& train, const SocketAddress& target);
    Result<Sent> send_singly(const Train& train, const SocketAddress& target);
    Result<Sent> refused(const Train& train, const char* doing);

    UdpEndpoints endpoints_;
    SocketAddress group_target_;
    std::vector<SocketAddress> member_targets_;
    std::vector<Slot> slots_;
    std::size_t slots_used_ = 0;
    bool can_segment_ = true;
    std::uint32_t receives_ = 0;
    std::array<std::uint64_t, 2> socket_bytes_{};  ///< Held for the peers' and the group's.
    DriverCounters counters_;
    std::vector<std::uint32_t> overflow_seen_;
};

}  // namespace stage::udp
