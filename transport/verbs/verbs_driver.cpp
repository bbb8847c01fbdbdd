#include "transport/verbs/verbs_driver.h"

#include "transport/base/invariant.h"
#include "transport/base/random_value.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace stage::verbs {
namespace {

constexpr std::size_t kBatch = 256;          ///< Packets of one receive(), of each ring.
constexpr std::uint32_t kSendBuffers = 512;  ///< Eight of the longest trains.
constexpr std::uint32_t kGroupBuffersMin = 256;
/// Peers send a small part of what the group does: reports, requests and repairs.
constexpr std::uint32_t kPeersPart = 4;
constexpr std::uint32_t kGroupQueuePair = 0xffffff;  ///< The number for each group.
/// A queue pair replaces a request's Q_Key by its own where the highest bit is set.
constexpr std::uint32_t kQkeyBits = 0x7fffffff;
constexpr std::chrono::seconds kJoinMax{2};

}  // namespace

Result<QueuePairs> open_queue_pairs(std::unique_ptr<DevicePort> port, std::size_t ring_bytes) {
    const auto group_buffers =
        std::max(static_cast<std::uint32_t>(ring_bytes / port->facts().mtu), kGroupBuffersMin);
    TRY(auto sends, SendRing::make(*port, kSendBuffers));
    TRY(auto peers_ring, ReceiveRing::make(*port, group_buffers / kPeersPart));
    TRY(auto group_ring, ReceiveRing::make(*port, group_buffers));
    const std::uint32_t qkey = random_value<std::uint32_t>() & kQkeyBits;
    TRY(auto peers,
        port->queue_pair({.sends = sends.queue(),
                          .receives = peers_ring.queue(),
                          .sends_max = sends.buffers(),
                          .receives_max = peers_ring.buffers(),
                          .qkey = qkey}));
    TRY(peers_ring.start(*peers, peers->number()));
    return QueuePairs{.port = std::move(port),
                      .sends = std::move(sends),
                      .peers_ring = std::move(peers_ring),
                      .group_ring = std::move(group_ring),
                      .peers = std::move(peers),
                      .peers_qkey = qkey};
}

Status join_group(QueuePairs& own, const Address& group) {
    TRY(own.membership, own.port->join(group, kJoinMax));
    TRY(own.group,
        own.port->queue_pair({.sends = own.sends.queue(),
                              .receives = own.group_ring.queue(),
                              .sends_max = 1,
                              .receives_max = own.group_ring.buffers(),
                              .qkey = own.membership->qkey()}));
    TRY(own.group_ring.start(*own.group, own.peers->number()));
    return own.membership->attach(*own.group);
}

VerbsDriver::VerbsDriver(QueuePairs own, std::vector<UdAddress> peers, Rank rank, Rank source)
    : own_{std::move(own)},
      peers_{*own_.port, std::move(peers), rank, source},
      peers_descriptor_{own_.peers_ring.queue().descriptor()},
      group_descriptor_{own_.group_ring.queue().descriptor()},
      send_descriptor_{own_.sends.queue().descriptor()} {
    invariant(own_.membership != nullptr, "the group was joined");
}

std::vector<int> VerbsDriver::descriptors() const {
    return {peers_descriptor_, group_descriptor_, own_.port->descriptor()};
}

Status VerbsDriver::receive(std::vector<ReceivedPacket>& packets, Readable readable) {
    TRY(own_.peers_ring.repost());
    TRY(own_.group_ring.repost());
    if (readable.peers) {
        const std::size_t before = packets.size();
        TRY(own_.peers_ring.take(kBatch, false, counters_, packets));
        if (packets.size() == before) {  // (It may be the port's descriptor that is readable.)
            TRY(own_.port->check());
        }
    }
    if (readable.stream) {
        TRY(own_.group_ring.take(kBatch, true, counters_, packets));
        counters_.group_fill = own_.group_ring.fill();
    }
    return {};
}

Result<Sent> VerbsDriver::send(const Train& train) {
    SendTarget to{.handle = &own_.membership->handle(),
                  .queue_pair = kGroupQueuePair,
                  .qkey = own_.membership->qkey()};
    if (!train.target.to_group) {
        const UdAddress& peer = peers_.address(train.target.peer);
        to = {.handle = peers_.find(train.target.peer),
              .queue_pair = peer.queue_pair,
              .qkey = peer.qkey};
    }
    if (to.handle == nullptr) {
        return Sent::all;  // (Lost: its address is not resolved yet.)
    }
    TRY(const Sent sent, own_.sends.send(*own_.peers, train, to));
    if (sent == Sent::would_block) {
        ++counters_.send_refused;
        return sent;
    }
    ++counters_.send_calls;
    counters_.packets_sent += (train.bytes + train.packet_bytes - 1) / train.packet_bytes;
    counters_.bytes_sent += train.bytes;
    return sent;
}

/// A device that fails is heard of by the next receive().
bool VerbsDriver::prepare_wait(Readable awaited) {
    const auto is_quiet = [](ReceiveRing& ring) {
        const auto quiet = ring.prepare_wait();
        return quiet && *quiet;
    };
    const bool peers = !awaited.peers || is_quiet(own_.peers_ring);
    const bool group = !awaited.stream || is_quiet(own_.group_ring);
    return peers && group;
}

int VerbsDriver::outlet_descriptor(std::size_t /*outlet*/) const {
    return send_descriptor_;
}

short VerbsDriver::outlet_events() const {
    return POLLIN;
}

}  // namespace stage::verbs
