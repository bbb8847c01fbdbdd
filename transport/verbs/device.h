// The interface of an RDMA device: what the driver needs of one port.
//
// Some fifteen calls with types of our own, so that the driver and its tests need no library:
// rdma_core.cpp implements the interface by libibverbs and librdmacm, the tests by a fake. Only
// unreliable datagrams (UD): InfiniBand Architecture Specification, volume 1, 9.8.3 and 10.5.
// Each object must outlive what was made from it, and the port all of them.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/fabric/rails.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace stage::verbs {

/// What stands before each received datagram: its global route header or nothing of use.
inline constexpr std::size_t kRouteHeaderBytes = 40;

enum class LinkKind : std::uint8_t { infiniband = 0, roce = 1 };

/// The global identifier of a port.
using Gid = std::array<std::byte, 16>;

/// Where datagrams for one queue pair go.
struct UdAddress {
    LinkKind kind = LinkKind::roce;
    Gid gid{};
    std::uint16_t lid = 0;  ///< InfiniBand's; 0 on RoCE.
    std::uint16_t pkey = 0xffff;
    std::uint32_t queue_pair = 0;  ///< 24 bits.
    std::uint32_t qkey = 0;

    bool operator==(const UdAddress&) const = default;
};

struct PortFacts {
    std::string name;  ///< "mlx5_0 port 1", for messages.
    LinkKind kind = LinkKind::roce;
    Gid gid{};  ///< The one of the interface's address.
    std::uint16_t lid = 0;
    std::uint16_t pkey = 0xffff;
    std::uint32_t mtu = 0;           ///< The longest payload of a datagram.
    std::uint32_t requests_max = 0;  ///< Limit of a queue pair's and a completion queue's size.
};

/// Memory that the device may read and write.
class Memory {
  public:
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    virtual ~Memory() = default;
    [[nodiscard]] virtual MutableBytes bytes() const = 0;
};

/// A request that has ended. Requests of one kind on a queue pair end in their order.
struct Completion {
    std::uint64_t id = 0;      ///< The request's.
    std::uint32_t bytes = 0;   ///< Received ones, kRouteHeaderBytes included.
    std::uint32_t source = 0;  ///< The number of the queue pair that sent what was received.
    /// Null: it succeeded. Otherwise what the device says; the queue pair is of no use then.
    const char* failure = nullptr;
};

class CompletionQueue {
  public:
    CompletionQueue() = default;
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;
    virtual ~CompletionQueue() = default;

    /// Readable once a request ended after arm().
    [[nodiscard]] virtual int descriptor() const = 0;
    virtual Status arm() = 0;
    /// Makes the descriptor unreadable. True if it was readable.
    [[nodiscard]] virtual bool take_event() = 0;
    /// The number of completions that it wrote.
    [[nodiscard]] virtual Result<std::size_t> poll(std::span<Completion> into) = 0;
};

/// A way to a peer's or a group's queue pairs.
class AddressHandle {
  public:
    AddressHandle() = default;
    AddressHandle(const AddressHandle&) = delete;
    AddressHandle& operator=(const AddressHandle&) = delete;
    virtual ~AddressHandle() = default;
};

struct SendRequest {
    std::uint64_t id = 0;
    Bytes datagram{};  ///< In a Memory; stays as it is until the request has ended.
    const AddressHandle* to = nullptr;
    std::uint32_t queue_pair = 0;
    std::uint32_t qkey = 0;
    /// Only then it has a completion, unless it fails. All earlier requests have ended, too.
    bool is_signalled = false;
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    MutableBytes room{};  ///< In a Memory: kRouteHeaderBytes and a datagram.
};

class QueuePair {
  public:
    QueuePair() = default;
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;
    virtual ~QueuePair() = default;

    [[nodiscard]] virtual std::uint32_t number() const = 0;
    /// At most as many as the queue pair was made for may be under way. An error means that it
    /// is of no use any more.
    virtual Status send(std::span<const SendRequest> requests) = 0;
    virtual Status receive(std::span<const ReceiveRequest> requests) = 0;
};

struct QueuePairPlan {
    CompletionQueue& sends;
    CompletionQueue& receives;
    std::uint32_t sends_max = 0;
    std::uint32_t receives_max = 0;
    std::uint32_t qkey = 0;  ///< Datagrams with another one are dropped.
};

/// Membership in a multicast group; its end leaves the group.
class Membership {
  public:
    Membership() = default;
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    virtual ~Membership() = default;

    [[nodiscard]] virtual std::uint32_t qkey() const = 0;
    [[nodiscard]] virtual const AddressHandle& handle() const = 0;
    /// From now on the queue pair receives what is sent to the group. The membership must end
    /// before the queue pair does.
    virtual Status attach(QueuePair& queue_pair) = 0;
};

/// Errors are Blame::node and name the device, the port and the remedy.
class DevicePort {
  public:
    DevicePort() = default;
    DevicePort(const DevicePort&) = delete;
    DevicePort& operator=(const DevicePort&) = delete;
    virtual ~DevicePort() = default;

    [[nodiscard]] virtual const PortFacts& facts() const = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<Memory>> memory(std::size_t bytes) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<CompletionQueue>> completion_queue(
        std::uint32_t completions_max) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<QueuePair>> queue_pair(
        const QueuePairPlan& plan) = 0;
    /// May wait for seconds for the address's resolution on RoCE; may be called in any thread.
    [[nodiscard]] virtual Result<std::unique_ptr<AddressHandle>> handle(
        const UdAddress& peer) = 0;
    /// Joins as a full member. Groups of one IP address and several ports have one address;
    /// they differ in their Q_Key where that can be chosen (RoCE). Fails if the group takes
    /// longer than `longest`.
    [[nodiscard]] virtual Result<std::unique_ptr<Membership>> join(
        const Address& group, std::chrono::milliseconds longest) = 0;
    /// Readable if check() may fail.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// Fails if the device has gone.
    virtual Status check() = 0;
};

struct PortPlan {
    Rail rail;
    std::uint8_t dscp = 8;
    std::uint8_t ttl = 1;  ///< The TTL of packets to the group.
};

using OpenPort = std::function<Result<std::unique_ptr<DevicePort>>(const PortPlan&)>;

}  // namespace stage::verbs
