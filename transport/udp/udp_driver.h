// Sends and receives a session's packets over UDP.
//
// Trains are sent by one sendmsg with UDP_SEGMENT (GSO: the kernel or the NIC cuts them into
// packets), and received by recvmmsg with UDP_GRO, up to 64 KB in a piece, because a system
// call for each packet is expensive. Where the kernel or the path refuses segmentation, packets
// are sent one by one in one sendmmsg. With several rails the source sends each flow by its
// rail. A rail that has failed there loses packets until that is noticed; then its flows carry
// none.
#pragma once

#include "transport/base/address.h"
#include "transport/fabric/driver.h"
#include "transport/os/unique_fd.h"
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
    Address group_address;         ///< The group address of the first flow.
    std::vector<Address> members;  ///< By rank: the address of each member's peer socket.
    std::size_t group_rails = 1;   ///< See GroupFlows.
    std::vector<std::string> interfaces{};  ///< By rail; the flows use them in turn.
    std::vector<UniqueFd> rails{};  ///< See open_rail_sockets(); the source's, written only.
};

class UdpDriver final : public Driver {
  public:
    explicit UdpDriver(UdpEndpoints endpoints);

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    Result<std::size_t> send_together(std::span<const Train> trains) override;
    [[nodiscard]] std::vector<std::unique_ptr<FlowInbox>> take_flows() override;
    [[nodiscard]] bool carries(Flow flow) override;
    [[nodiscard]] std::size_t outlets() const override { return outlets_.size(); }
    [[nodiscard]] std::size_t outlet_of(const TrainTarget& target) const override {
        return target.to_group ? target.flow.index() % outlets_.size() : 0;
    }
    [[nodiscard]] int outlet_descriptor(std::size_t outlet) const override {
        return outlets_[outlet].fd;
    }
    [[nodiscard]] std::vector<int> descriptors() const override;
    [[nodiscard]] int stream_descriptor() const override {
        return flows_.size() == 1 ? flows_.front().fd : -1;
    }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "udp"; }

  private:
    /// A socket by which trains leave.
    struct Outlet {
        int fd = -1;
        bool can_segment = true;
        bool fragments = false;  ///< The kernel fragments datagrams longer than the MTU.
        bool carries = true;     ///< False: packets are known not to leave the host.
        std::uint32_t asked = 0;
    };

    Status read(ReadSocket& socket, std::size_t room, std::vector<ReceivedPacket>& packets);
    void look(ReadSocket& socket);
    [[nodiscard]] const SocketAddress& target_of(const Train& train) const;
    [[nodiscard]] Address flow_address(std::size_t flow) const;
    void count_sent(const Train& train);
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
    std::vector<ReadSocket> flows_;  ///< Sockets that take_flows() has not taken.
    std::vector<Outlet> outlets_;    ///< By rail; the first is the peers' socket.
    std::uint32_t receives_ = 0;
    DriverCounters counters_;
};

}  // namespace stage::udp
