// How do a session's packets cross UDP?
//
// Trains leave by one sendmsg with UDP_SEGMENT (GSO: the kernel or the NIC cuts them into
// packets), and arrive by recvmmsg with UDP_GRO, up to 64 KB a piece: per-packet system calls
// are what makes others slow (DESIGN.md, section 8). Where the kernel or the path refuses
// segmentation, packets are sent one by one in one sendmmsg.
// Of several rails the source sends each flow by its own; one that is dead there loses what it
// was given until that is noticed, and its flows carry nothing then.
#pragma once

#include "transport/base/address.h"
#include "transport/os/unique_fd.h"
#include "transport/run/driver.h"
#include "transport/udp/packet_slots.h"
#include "transport/udp/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

namespace stage::udp {

struct UdpEndpoints {
    std::vector<UniqueFd> flows;   ///< See open_group_socket(); by flow, read only.
    UniqueFd peer;                 ///< See open_peer_socket(); read and written.
    Address group_address;         ///< Where the group hears its first flow.
    std::vector<Address> members;  ///< By rank: where each member's peer socket is bound.
    std::size_t group_rails = 1;   ///< See GroupFlows.
    std::vector<std::string> interfaces{};  ///< By rail; the flows are on them in turn.
    std::vector<UniqueFd> rails{};  ///< See open_rail_sockets(); the source's, written only.
};

class UdpDriver final : public Driver {
  public:
    explicit UdpDriver(UdpEndpoints endpoints);

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    Result<std::size_t> send_together(std::span<const Train> trains) override;
    [[nodiscard]] std::vector<std::unique_ptr<FlowInbox>> take_flows() override;
    Status hear_group(bool hears) override;
    [[nodiscard]] bool carries(Flow flow) override;
    [[nodiscard]] int refusing_descriptor() const override { return refusing_; }
    [[nodiscard]] std::vector<int> descriptors() const override;
    [[nodiscard]] int stream_descriptor() const override {
        return flows_.size() == 1 ? flows_.front().fd : -1;
    }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "udp"; }

  private:
    /// A socket that trains leave by.
    struct Outlet {
        int fd = -1;
        bool can_segment = true;
        bool fragments = false;  ///< The kernel cuts what is longer than the MTU.
        bool carries = true;     ///< As far as was seen.
        std::uint32_t asked = 0;
    };

    Status read(ReadSocket& socket, std::size_t room, std::vector<ReceivedPacket>& packets);
    void look(ReadSocket& socket);
    [[nodiscard]] const SocketAddress& target_of(const Train& train) const;
    [[nodiscard]] Address flow_address(std::size_t flow) const;
    [[nodiscard]] Outlet& outlet_of(const Train& train);
    void count_sent(const Train& train);
    Result<std::size_t> send_by(Outlet& outlet, std::span<const Train> trains);
    Result<Sent> send_segmented(Outlet& outlet, const Train& train);
    [[nodiscard]] int send_messages(const Outlet& outlet, std::span<mmsghdr> messages);
    [[nodiscard]] static bool may_fragment(Outlet& outlet);
    Result<Sent> send_singly(Outlet& outlet, const Train& train);
    Result<Sent> refused(Outlet& outlet, const Train& train, const char* doing);

    UdpEndpoints endpoints_;
    std::vector<SocketAddress> group_targets_;  ///< By flow.
    std::vector<SocketAddress> member_targets_;
    PacketSlots slots_;
    ReadSocket peer_;
    std::vector<ReadSocket> flows_;   ///< That nobody took.
    std::vector<int> group_sockets_;  ///< Whoever has them now.
    std::vector<Outlet> outlets_;     ///< By rail; the first is the peers' socket.
    int refusing_;                    ///< Whose outlet was full last.
    std::uint32_t receives_ = 0;
    DriverCounters counters_;
};

}  // namespace stage::udp
