// What does run/ ask of a fabric?
//
// A few calls that move whole packets, sealed already, and never block. A driver knows sockets
// or queue pairs; it knows no protocol, no key, no clock. A new fabric implements this class
// and nothing else. Two rules:
//
//   * receive() hands out packets in buffers that the driver owns; they stay as they are (and
//   may be
//     opened in place) until the next receive().
//   * send() takes a *train*: packets of one size to one destination, the last may be shorter,
//     in pieces that the kernel gathers (headers here, payloads in their blocks). What doesn't
//     fit now is refused whole, and the caller offers it again when writable() is told so.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::uint8_t kFlowsMax = 16;        ///< A header has four bits for it.
inline constexpr std::size_t kTrainPacketsMax = 64;  ///< UDP_MAX_SEGMENTS of older kernels.
/// What is around each payload is one piece with what is around the next.
inline constexpr std::size_t kTrainPiecesMax = 2 * kTrainPacketsMax + 1;

/// Where a train goes: the group, or one member.
struct TrainTarget {
    bool to_group = false;
    Rank peer;    ///< If not to the group.
    Flow flow{};  ///< If to the group: by which of its flows.
};

struct Train {
    TrainTarget target;
    /// One packet after the other; a piece may end anywhere. At most kTrainPiecesMax.
    std::span<const Bytes> pieces;
    std::size_t bytes = 0;           ///< Of all pieces.
    std::uint16_t packet_bytes = 0;  ///< Of each packet but the last.
};

struct ReceivedPacket {
    MutableBytes bytes;
    bool to_group = false;
    /// When the kernel took it in, nanoseconds of the wall clock; 0: not known. Packets that
    /// came as one piece have one time.
    std::int64_t stamp_ns = 0;
};

/// What a driver saw, for the statistics of a run.
struct DriverCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t send_calls = 0;
    std::uint64_t receive_calls = 0;
    std::uint64_t send_refused = 0;      ///< The socket's buffer was full.
    std::uint64_t socket_overflow = 0;   ///< Packets that the kernel dropped before us.
    std::uint64_t socket_bytes_max = 0;  ///< The most that the kernel was seen to hold for us.
    std::uint8_t group_fill = 0;         ///< Of the group socket's buffer, in 255ths, just now.

    /// Of two that receive side by side; what each held at most is taken for held at once.
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

/// Which of a driver's descriptors may have something.
struct Readable {
    bool peers = true;  ///< Any but stream_descriptor().
    bool stream = true;
};

/// Sets of buffers that a flow's packets wait in: one is filled, one handed over, one used.
inline constexpr std::size_t kFlowSets = 3;

/// One of the group's flows, for a thread that receives nothing else.
class FlowInbox {
  public:
    FlowInbox() = default;
    FlowInbox(const FlowInbox&) = delete;
    FlowInbox& operator=(const FlowInbox&) = delete;
    virtual ~FlowInbox() = default;

    /// As Driver::receive(), into the buffers of one of kFlowSets: they stay as they are until
    /// the same set is asked for again.
    virtual Status receive(std::size_t set, std::vector<ReceivedPacket>& packets) = 0;
    /// Readable while there is something to receive.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// Its receiver's only.
    [[nodiscard]] virtual const DriverCounters& counters() const = 0;
};

class Driver {
  public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;

    /// Appends what has arrived where it is said to, at most a bounded batch; nothing if
    /// nothing has.
    virtual Status receive(std::vector<ReceivedPacket>& packets, Readable readable) = 0;

    /// All of the train, or none of it. An error ends the session: the socket is no
    /// use. What merely loses packets, as an interface that is down, is no error.
    virtual Result<Sent> send(const Train& train) = 0;

    /// So many of them, from the front, as the fabric takes now; where it can, by one call, so
    /// that whoever wakes up for the first finds all of them. Else as by send().
    virtual Result<std::size_t> send_together(std::span<const Train> trains);

    /// Whether what goes to the group by this flow leaves the host, as far as can be seen: a
    /// flow's interface may be dead. Asked before each train of it.
    [[nodiscard]] virtual bool carries(Flow /*flow*/) { return true; }

    /// The group's flows, where there are several and threads of their own shall receive them:
    /// receive() then gives what peers send, and descriptors() are without them. They may
    /// outlive nothing of the driver's.
    [[nodiscard]] virtual std::vector<std::unique_ptr<FlowInbox>> take_flows() { return {}; }

    /// Leave the group, so that the network brings its packets here no more; or join it again.
    virtual Status hear_group(bool hears) = 0;

    /// Descriptors to wait for until they are readable.
    [[nodiscard]] virtual std::vector<int> descriptors() const = 0;
    /// One that is writable once the train that was refused last may be offered again.
    [[nodiscard]] virtual int refusing_descriptor() const { return descriptors().front(); }
    /// The one of them at which the group's packets arrive, and nothing that hurries; -1: none.
    [[nodiscard]] virtual int stream_descriptor() const { return -1; }

    [[nodiscard]] virtual const DriverCounters& counters() const = 0;
    /// "udp", for reports.
    [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace stage
