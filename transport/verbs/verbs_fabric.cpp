#include "transport/verbs/verbs_fabric.h"

#include "transport/base/fields.h"
#include "transport/base/random_value.h"
#include "transport/fabric/address_field.h"
#include "transport/verbs/verbs_driver.h"
#include "transport/verbs/verbs_place.h"
#include "transport/wire/packet.h"

#include <algorithm>
#include <utility>

namespace stage::verbs {

/// What the process that joins needs to open the device.
struct VerbsDescription {
    Rail rail;
    std::uint8_t dscp = 8;
    std::uint8_t ttl = 1;
    std::uint32_t buffer_bytes = 0;
    bool is_parallel = false;  ///< By several flows or interfaces.
    bool broadcasts = false;   ///< To all hosts of the LAN: UD has no such group.
    bool has_group = false;    ///< If not, the group is drawn when the members meet.
    Address group{};
};

void fields(auto& on, Like<VerbsDescription> auto& about) {
    on.text(about.rail.name, 255).with(about.rail.address, put_address, take_address);
    on.number(about.dscp).number(about.ttl).number(about.buffer_bytes);
    on.flag(about.is_parallel).flag(about.broadcasts).flag(about.has_group);
    on.with(about.group, put_address, take_address);
}

namespace {

/// The queue pairs that place() made.
struct OpenQueuePairs final : OpenedHere {
    explicit OpenQueuePairs(QueuePairs own) : pairs{std::move(own)} {}
    QueuePairs pairs;
};

Result<VerbsDescription> description_of(const Endpoint& endpoint) {
    auto about = decoded<VerbsDescription>(endpoint.description);
    if (!about || !endpoint.descriptors.empty()) {
        return Error{Blame::internal, "a verbs endpoint without a description"};
    }
    return *std::move(about);
}

Result<QueuePairs> open_pairs(const VerbsDescription& about, const OpenPort& open_port) {
    if (about.broadcasts) {
        return Error{Blame::node, "MulticastGroups=broadcast names no multicast group"};
    }
    if (about.is_parallel) {
        return Error{Blame::node, "several flows or interfaces together are for UDP only"};
    }
    TRY(auto port, open_port({.rail = about.rail, .dscp = about.dscp, .ttl = about.ttl}));
    TRY(auto pairs, open_queue_pairs(std::move(port), about.buffer_bytes));
    if (about.has_group) {
        TRY(join_group(pairs, about.group));
    }
    return pairs;
}

VerbsPlace place_of(const QueuePairs& own) {
    const PortFacts& port = own.port->facts();
    return {.why_not = {},
            .peer = {.kind = port.kind,
                     .gid = port.gid,
                     .lid = port.lid,
                     .pkey = port.pkey,
                     .queue_pair = own.peers->number(),
                     .qkey = own.peers_qkey},
            .mtu = static_cast<std::uint16_t>(port.mtu)};
}

/// Why the queue pairs of both do not reach each other; empty: they do. A partition's highest
/// bit tells full from limited members (IBA specification, volume 1, 10.9.1).
std::string difference(const VerbsPlace& one, const VerbsPlace& other) {
    constexpr unsigned kPartition = 0x7fff;
    constexpr unsigned kFullMember = 0x8000;
    constexpr std::ptrdiff_t kPrefixBytes = 8;
    if (one.peer.kind != other.peer.kind) {
        return "one link is InfiniBand, the other one RoCE";
    }
    if ((one.peer.pkey & kPartition) != (other.peer.pkey & kPartition)) {
        return "its P_Key differs from the first node's";
    }
    if (((one.peer.pkey | other.peer.pkey) & kFullMember) == 0) {
        return "it is a limited member of the partition, as the first node is";
    }
    const bool is_infiniband = one.peer.kind == LinkKind::infiniband;
    if (is_infiniband && !std::equal(one.peer.gid.begin(),
                                     one.peer.gid.begin() + kPrefixBytes,
                                     other.peer.gid.begin())) {
        return "it is in another subnet of InfiniBand";
    }
    return {};
}

}  // namespace

VerbsFabric::VerbsFabric(OpenPort open_port) : open_port_{std::move(open_port)} {
}

Result<Endpoint> VerbsFabric::open(const EndpointPlan& plan) const {
    VerbsDescription about{
        .rail = plan.rails.front(),
        .dscp = plan.dscp,
        .ttl = plan.ttl,
        .buffer_bytes = plan.buffer_bytes,
        .is_parallel = plan.rails.size() > 1 || (plan.group && plan.group->flows > 1),
        .broadcasts = plan.broadcasts,
        .has_group = plan.group.has_value()};
    if (plan.group) {
        about.group = plan.group->first;
        about.broadcasts = plan.group->first.ip == ip_v4(0xffffffff);
    }
    return Endpoint{.fabric = std::string{name()}, .description = encoded(about)};
}

Result<Place> VerbsFabric::place(Endpoint& own) const {
    TRY(const auto about, description_of(own));
    VerbsPlace place;
    if (auto pairs = open_pairs(about, open_port_); pairs) {
        place = place_of(*pairs);
        own.opened = std::make_unique<OpenQueuePairs>(*std::move(pairs));
    } else {
        place.why_not = pairs.error().sentence();
        // No two members of a group have the same place.
        std::ranges::copy(about.rail.address.ip.octets, place.peer.gid.begin());
        place.peer.qkey = random_value<std::uint32_t>();
    }
    return Place{.host = about.rail.address.ip, .bytes = encode_place(place)};
}

std::optional<Objection> VerbsFabric::objection(
    const std::vector<std::vector<std::byte>>& places) const {
    std::optional<VerbsPlace> first;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
        const Rank member{static_cast<std::uint16_t>(rank)};
        if (places[rank].empty()) {
            return Objection{.member = member, .why = "its stagecast knows no RDMA"};
        }
        const auto place = decode_place(places[rank]);
        const std::string why = !place                    ? place.error().sentence()
                                : !place->why_not.empty() ? place->why_not
                                : first.has_value()       ? difference(*first, *place)
                                                          : std::string{};
        if (!why.empty()) {
            return Objection{.member = member, .why = why};
        }
        first = first ? first : *place;
    }
    return std::nullopt;
}

Result<Joined> VerbsFabric::join(Endpoint own, const JoinPlan& plan) const {
    auto* const opened = dynamic_cast<OpenQueuePairs*>(own.opened.get());
    if (opened == nullptr) {
        return Error{Blame::internal, "a verbs endpoint without queue pairs"};
    }
    QueuePairs pairs = std::move(opened->pairs);
    if (!pairs.membership) {
        TRY(join_group(pairs, plan.group(1)));
    }
    const std::uint32_t mtu = pairs.port->facts().mtu;
    Carrier carrier{.has_multicast = true,
                    .packet_bytes = mtu,
                    .chunk_bytes_max = wire::kMaxDatagramChunkBytes,
                    .receive_buffer_bytes = pairs.group_ring.buffers() * mtu};
    std::vector<UdAddress> peers;
    for (const auto& bytes : plan.places) {
        TRY(const auto place, decode_place(bytes));
        peers.push_back(place.peer);
        carrier.packet_bytes = std::min<std::uint32_t>(carrier.packet_bytes, place.mtu);
    }
    return Joined{.driver = std::make_unique<VerbsDriver>(
                      std::move(pairs), std::move(peers), plan.own, plan.source),
                  .carrier = carrier};
}

}  // namespace stage::verbs
