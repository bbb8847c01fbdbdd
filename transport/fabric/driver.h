// The interface of a fabric: what run/ needs to send and receive packets.
//
// A few calls that move whole sealed packets and never block. A driver knows sockets or queue
// pairs, but no protocol or key. Only for time-outs of its connections it may read the clock.
// A new fabric implements this class and nothing else. Two rules:
//
//   * receive() returns packets in buffers that the driver owns. They stay as they are (and
//     may be opened in place) until the next receive().
//   * send() takes a *train*: packets of one size to one destination (the last may be shorter),
//     in pieces that the kernel gathers (headers here, payloads in their blocks). A train that
//     does not fit now is refused, and the caller offers it again once its outlet has room, or
//     drops it. What left of it is counted in the train: a driver may serve one session after
//     the other, and remembers no train.
#pragma once

#include "transport/base/link_event.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::uint8_t kFlowsMax = 16;        ///< The header has four bits for the flow.
inline constexpr std::size_t kTrainPacketsMax = 64;  ///< UDP_MAX_SEGMENTS of older kernels.
/// The header, tag or both around a payload are one piece with those around the next.
inline constexpr std::size_t kTrainPiecesMax = 2 * kTrainPacketsMax + 1;

/// The destination of a train: the group or one member.
struct TrainTarget {
    bool to_group = false;
    Rank peer;    ///< If not to the group.
    Flow flow{};  ///< If to a peer, with reliable unicast: its connection's.
};

struct Train {
    TrainTarget target;
    /// One packet after the other; a piece may end anywhere. At most kTrainPiecesMax.
    std::span<const Bytes> pieces;
    std::size_t bytes = 0;           ///< Bytes of all pieces.
    std::uint32_t packet_bytes = 0;  ///< Bytes of each packet but the last.
    /// The number of its packets, from the first on, that have left. A driver that refuses the
    /// train after it could send a part of it sets this. Null: no part of it is offered again.
    std::size_t* packets_sent = nullptr;
};

struct ReceivedPacket {
    MutableBytes bytes;
    bool to_group = false;
    /// When the kernel received it, nanoseconds of the wall clock; 0: not known. Packets that
    /// arrived as one piece have the same time.
    std::int64_t stamp_ns = 0;
    /// A connection whose peer is not known: if the packet is genuine its sender is. 0: known.
    std::uint32_t unproved = 0;
};

/// What a driver counted, for the statistics of a run.
struct DriverCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t send_calls = 0;
    std::uint64_t receive_calls = 0;
    std::uint64_t send_refused = 0;     ///< The socket's buffer was full.
    std::uint64_t socket_overflow = 0;  ///< Packets that the kernel dropped for lack of room.
    /// The most bytes that the kernel was seen to hold for the sockets.
    std::uint64_t socket_bytes_max = 0;
    /// Fill level of the group socket's buffer just now, in 255ths.
    std::uint8_t group_fill = 0;

    /// Adds the counters of a second receiving thread. The maxima of both are taken to
    /// coincide.
    DriverCounters& operator+=(const DriverCounters& other) {
        packets_sent += other.packets_sent;
        packets_received += other.packets_received;
        bytes_sent += other.bytes_sent;
        bytes_received += other.bytes_received;
        send_calls += other.send_calls;
        receive_calls += other.receive_calls;
        send_refused += other.send_refused;
        socket_overflow += other.socket_overflow;
        socket_bytes_max += other.socket_bytes_max;
        group_fill = std::max(group_fill, other.group_fill);
        return *this;
    }
};

enum class Sent : std::uint8_t { all, would_block };

/// Which of a driver's descriptors may be readable.
struct Readable {
    bool peers = true;  ///< Any except stream_descriptor().
    bool stream = true;
};

/// Sets of buffers for a flow's packets: one is being filled, one handed over, one in use.
inline constexpr std::size_t kFlowSets = 3;

/// One of the group's flows, for a thread that receives nothing else.
class FlowInbox {
  public:
    FlowInbox() = default;
    FlowInbox(const FlowInbox&) = delete;
    FlowInbox& operator=(const FlowInbox&) = delete;
    virtual ~FlowInbox() = default;

    /// Like Driver::receive(), into the buffers of one of kFlowSets: they stay as they are
    /// until the same set is passed again.
    virtual Status receive(std::size_t set, std::vector<ReceivedPacket>& packets) = 0;
    /// Readable while there is something to receive.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// Only for its receiving thread.
    [[nodiscard]] virtual const DriverCounters& counters() const = 0;
};

class Driver {
  public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;

    /// Appends a bounded batch of what has arrived on the given descriptors; nothing if nothing
    /// has arrived.
    virtual Status receive(std::vector<ReceivedPacket>& packets, Readable readable) = 0;

    /// Sends what has not left of the train, or refuses it. An error ends the session, because
    /// the socket is of no use. A cause that merely loses packets, as an interface that is
    /// down, is no error.
    virtual Result<Sent> send(const Train& train) = 0;

    /// Sends as many of the trains, which are of one outlet, from the front, as the fabric
    /// takes now. If possible it uses one call, so that a receiver that wakes up for the first
    /// finds all of them. Otherwise as send().
    virtual Result<std::size_t> send_together(std::span<const Train> trains);

    /// False if packets to the group by this flow are known not to leave the host: the flow's
    /// interface may have failed. Asked before each train of the flow.
    [[nodiscard]] virtual bool carries(Flow /*flow*/) { return true; }

    /// The group's flows, if there are several and threads of their own shall receive them.
    /// Then receive() returns only what peers send, and descriptors() are without the flows.
    /// The flows must not outlive the driver.
    [[nodiscard]] virtual std::vector<std::unique_ptr<FlowInbox>> take_flows() { return {}; }

    /// With reliable unicast: appends what happened to connections since the last call.
    virtual void take_links(std::vector<LinkEvent>& /*events*/) {}
    /// Who sealed a packet with this `unproved`, and for which flow; nothing if no member did.
    /// False if the connection has ended meanwhile: the packet means nothing then.
    [[nodiscard]] virtual bool prove(std::uint32_t /*connection*/,
                                     std::optional<LinkEnd> /*sender*/) {
        return false;
    }
    /// With reliable unicast: begins the connection to a peer for a flow, if there is none. A
    /// train to a peer and a flow without one is lost.
    virtual void connect(LinkEnd /*to*/) {}
    /// With reliable unicast: closes the connection, without an event.
    virtual void hang_up(LinkEnd /*to*/) {}

    /// The error (Blame::node) of a member that could make no connection to `peer` for so
    /// long: addresses, ports and the remedy.
    [[nodiscard]] virtual Error no_connection(Rank peer, Duration tried) const;

    /// Called before a wait for the descriptors. False: something has arrived on the awaited
    /// ones, and they may not become readable.
    [[nodiscard]] virtual bool prepare_wait(Readable /*awaited*/) { return true; }
    /// Descriptors to wait for until they are readable.
    [[nodiscard]] virtual std::vector<int> descriptors() const = 0;
    /// Outlets fill up independently of each other, as a socket for each rail does: 1 to
    /// kFlowsMax. Each train leaves by one of them.
    [[nodiscard]] virtual std::size_t outlets() const { return 1; }
    [[nodiscard]] virtual std::size_t outlet_of(const TrainTarget& /*target*/) const {
        return 0;
    }
    /// A descriptor that has outlet_events() once the outlet takes a train that it refused.
    [[nodiscard]] virtual int outlet_descriptor(std::size_t /*outlet*/) const {
        return descriptors().front();
    }
    /// Events of poll(). A queue of completions becomes readable.
    [[nodiscard]] virtual short outlet_events() const;
    /// The descriptor on which only the group's packets arrive, which are not urgent; -1: none.
    [[nodiscard]] virtual int stream_descriptor() const { return -1; }

    [[nodiscard]] virtual const DriverCounters& counters() const = 0;
    /// "udp", for reports.
    [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace stage
