// The interface of a fabric: a way by which the members of a broadcast reach each other.
//
// A fabric opens an endpoint, says where the other members find it, and makes the driver
// (driver.h) once all members' places are known. Only its own folder knows its sockets, ports
// and addresses: all other code hands on descriptors and bytes. The process that opens an
// endpoint, as root, may be another than the one that joins with it.
// docs/ARCHITECTURE.md lists the places that name a fabric.
#pragma once

#include "transport/base/address.h"
#include "transport/base/result.h"
#include "transport/fabric/driver.h"
#include "transport/fabric/port_supply.h"
#include "transport/fabric/rails.h"
#include "transport/os/unique_fd.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Limit of a place in a business card, bytes.
inline constexpr std::size_t kMaxPlaceBytes = 128;

/// What a member's own process has opened and no other process can be handed.
class OpenedHere {
  public:
    OpenedHere() = default;
    OpenedHere(const OpenedHere&) = delete;
    OpenedHere& operator=(const OpenedHere&) = delete;
    virtual ~OpenedHere() = default;
};

/// What one member has opened in a fabric.
struct Endpoint {
    std::string fabric;                    ///< Its name.
    std::vector<UniqueFd> descriptors{};   ///< May be handed to another process.
    std::vector<std::byte> description{};  ///< The fabric's own words on them.
    /// The port on which it listens if that is none of those that were supplied: a firewall may
    /// block it.
    std::optional<std::uint16_t> stray_port{};
    std::unique_ptr<OpenedHere> opened{};  ///< By Fabric::place().
};

/// A multicast group and how its packets are spread.
struct GroupPlan {
    Address first;          ///< Address and port of the first flow.
    std::size_t flows = 1;  ///< 1 to kFlowsMax.
    std::size_t rails =
        1;  ///< Each has a group address of its own, consecutive from the first.
};

/// What a site allows on this node, and what is known of the group before the members meet.
struct EndpointPlan {
    /// The interfaces to use, not empty; the address of the first is the member's own.
    std::vector<Rail> rails;
    PortSupply ports;
    std::uint8_t ttl = 1;                     ///< The TTL of multicast packets.
    std::uint8_t dscp = 8;                    ///< The DSCP; 8: CS1, "less than best effort".
    std::uint32_t buffer_bytes = 12U << 20U;  ///< Asked for in each direction.
    bool force_buffer = false;                ///< Exceeds the system's maximum, as root may.
    bool holds_ports = false;    ///< The process holds the ports (PortSupply::lent).
    bool broadcasts = false;     ///< To all hosts of the LAN instead of a group.
    std::uint64_t rate_max = 0;  ///< Bits per second; 0: no limit.
    bool is_source = false;
    bool is_leg = false;  ///< The members are in different clusters: a long path, maybe.
    /// Empty: the group is drawn when the members meet, and its sockets are opened then.
    std::optional<GroupPlan> group{};
};

/// Where the other members find an endpoint.
struct Place {
    IpAddress host;                ///< The member's address, for messages.
    std::vector<std::byte> bytes;  ///< The fabric's own, at most kMaxPlaceBytes.
};

/// Why a group does without a fabric.
struct Objection {
    Rank member;      ///< The first one that it can't reach.
    std::string why;  ///< "this node has no RDMA device".
};

/// What is known once all members' places are.
struct JoinPlan {
    Rank own;
    Rank source;
    std::vector<std::vector<std::byte>> places{};  ///< By rank, each from its member's card.
    /// The group's first address for the number of rails that all members have.
    std::function<Address(std::size_t rails)> group;
    std::size_t flows = 1;       ///< Asked for: each rail has at least one.
    std::uint64_t rate_max = 0;  ///< Bytes per second that this member may send; 0: no limit.
    std::uint32_t children_max = 1;  ///< Members to which one passes a relay's bytes on.
    std::string data_ports{};        ///< "6830-6893": those of all members, for messages.
};

/// What a broadcast has to know of the packets that a fabric carries.
struct Carrier {
    bool has_multicast = false;      ///< If not, it has reliable unicast.
    std::uint32_t packet_bytes = 0;  ///< The longest packet, header and tag included.
    /// What is carried where some path is narrower than the interfaces say; 0: no less.
    std::uint32_t packet_bytes_fallback = 0;
    std::uint32_t chunk_bytes_max = 0;       ///< The longest payload.
    std::uint32_t receive_buffer_bytes = 0;  ///< Granted for what the group sends.
    std::uint8_t flows = 1;
    std::uint8_t rails = 1;  ///< Interfaces that the flows use in turn.
};

struct Joined {
    std::unique_ptr<Driver> driver;
    Carrier carrier;
};

/// Stateless: there is one object of each fabric.
class Fabric {
  public:
    Fabric() = default;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;
    virtual ~Fabric() = default;

    /// "udp": in cards, SETUP and reports. At most 16 bytes.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// True if it carries a group's packets to all members; otherwise a relay's from one to the
    /// next.
    [[nodiscard]] virtual bool has_multicast() const = 0;
    /// Fails with the cause EADDRINUSE if other programs have the group's port.
    [[nodiscard]] virtual Result<Endpoint> open(const EndpointPlan& plan) const = 0;
    [[nodiscard]] virtual Result<Place> place(Endpoint& own) const = 0;
    /// `places`: by rank; empty where a member has none. With an objection the group goes on in
    /// the next fabric.
    [[nodiscard]] virtual std::optional<Objection> objection(
        const std::vector<std::vector<std::byte>>& /*places*/) const {
        return std::nullopt;
    }
    /// Fails (Blame::internal) on a place that is none; places are untrusted.
    [[nodiscard]] virtual Result<Joined> join(Endpoint own, const JoinPlan& plan) const = 0;
};

}  // namespace stage
