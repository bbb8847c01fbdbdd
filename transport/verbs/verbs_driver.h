// Sends and receives a session's packets by unreliable datagrams of an RDMA device.
//
// Two queue pairs: one receives what is sent to the group, the other one what peers send, and
// sends everything.
#pragma once

#include "transport/fabric/driver.h"
#include "transport/verbs/device.h"
#include "transport/verbs/peer_handles.h"
#include "transport/verbs/receive_ring.h"
#include "transport/verbs/send_ring.h"

#include <memory>

namespace stage::verbs {

/// The queue pairs of one member. Members refer to earlier ones.
struct QueuePairs {
    std::unique_ptr<DevicePort> port;
    SendRing sends;
    ReceiveRing peers_ring;
    ReceiveRing group_ring;
    std::unique_ptr<QueuePair> peers;
    std::unique_ptr<QueuePair> group{};  ///< Null until the group is joined.
    std::unique_ptr<Membership> membership{};
    std::uint32_t peers_qkey = 0;
};

/// `ring_bytes`: of the buffers for the group's packets.
[[nodiscard]] Result<QueuePairs> open_queue_pairs(std::unique_ptr<DevicePort> port,
                                                  std::size_t ring_bytes);
/// Fails (Blame::node) if the subnet manager or the switch takes more than two seconds.
Status join_group(QueuePairs& own, const Address& group);

class VerbsDriver final : public Driver {
  public:
    /// Requires that the group was joined. `peers`: by rank.
    VerbsDriver(QueuePairs own, std::vector<UdAddress> peers, Rank rank, Rank source);
    ~VerbsDriver() override { own_.sends.drain(); }

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const Train& train) override;
    [[nodiscard]] bool prepare_wait(Readable awaited) override;
    [[nodiscard]] std::vector<int> descriptors() const override;
    [[nodiscard]] int stream_descriptor() const override { return group_descriptor_; }
    [[nodiscard]] int outlet_descriptor(std::size_t outlet) const override;
    [[nodiscard]] short outlet_events() const override;
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "verbs"; }

  private:
    QueuePairs own_;
    PeerHandles peers_;  ///< (Ends before the port.)
    int peers_descriptor_ = -1;
    int group_descriptor_ = -1;
    int send_descriptor_ = -1;
    DriverCounters counters_;
};

}  // namespace stage::verbs
