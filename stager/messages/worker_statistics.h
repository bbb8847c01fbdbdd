// Describes what a worker counted in its part of a broadcast.
//
// The worker sends it to its daemon with its result and again at its end. A part of it goes up
// the control tree to the root's daemon, which adds up what all nodes counted. The worker is
// the user's process: any value may be made up.
#pragma once

#include "transport/base/fields.h"
#include "transport/settings/policies.h"

#include <algorithm>
#include <string>
#include <vector>

namespace stage {

/// The part that the root's daemon reports of every node.
struct NodeStatistics {
    std::uint64_t microseconds = 0;  ///< From the end of the wire-up until the node had it all.
    std::uint64_t packets_lost = 0;
    std::uint64_t packets_repaired = 0;
    std::uint64_t bytes_read = 0;  ///< Bytes of the source's files, on this node.
    std::uint64_t bytes_here = 0;  ///< What this node had already.
    /// Limit of `fabric`, bytes.
    static constexpr std::size_t kMaxFabricBytes = 32;

    std::string fabric{};              ///< The fabric of its packets: "udp".
    std::uint32_t packet_payload = 0;  ///< Bytes of the object in a packet.
    bool was_unreachable = false;      ///< Multicast or broadcast did not reach the node.
    bool was_handed_over = false;      ///< The group went on by a relay.

    bool operator==(const NodeStatistics&) const = default;
};

struct WorkerStatistics {
    /// Bytes of `remarks`.
    static constexpr std::size_t kMaxRemarksBytes = 1024;

    NodeStatistics node;
    std::uint64_t bytes = 0;  ///< All files' bytes; 0: this node does not have them.
    std::uint64_t files = 0;  ///< The files that are here; 0: unknown.
    std::string remarks;      ///< What of the source is not in the copies; empty: nothing.
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t packets_rejected = 0;
    std::uint64_t packets_overflowed = 0;
    std::vector<std::uint64_t> flow_packets;  ///< Received, by flow; empty if there is one.
    std::uint8_t rails = 1;

    bool operator==(const WorkerStatistics&) const = default;
};

void fields(auto& on, Like<NodeStatistics> auto& counted) {
    on.number(counted.microseconds).number(counted.packets_lost);
    on.number(counted.packets_repaired).number(counted.bytes_read).number(counted.bytes_here);
    on.cut(counted.fabric, NodeStatistics::kMaxFabricBytes).number(counted.packet_payload);
    on.flag(counted.was_unreachable).flag(counted.was_handed_over);
}

void fields(auto& on, Like<WorkerStatistics> auto& counted) {
    fields(on, counted.node);
    on.number(counted.bytes).number(counted.files);
    on.cut(counted.remarks, WorkerStatistics::kMaxRemarksBytes);
    on.number(counted.packets_sent).number(counted.packets_received);
    on.number(counted.packets_rejected).number(counted.packets_overflowed);
    on.list(counted.flow_packets, kPolicyFlowsMax, [](auto& each, auto& packets) {
        each.number(packets);
    });
    on.number(counted.rails);
}

}  // namespace stage
