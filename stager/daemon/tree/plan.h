// Describes what all nodes of a stage must have in common.
//
// The root makes the plan when the job is announced there, and sends it down the tree inside
// SETUP, sealed: the session, its key, the multicast group, and the nodes by rank. It does not
// contain what to stage, or as which user: that comes from each node's own plugin, and the
// digest proves that the plugins of root and node agree. Only the plan of a push (push_rules.h
// says which are allowed) and that of a requeued job contain specs.
#pragma once

#include "stager/control/message.h"
#include "stager/messages/stage_settings.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Names one push: known to its source and the nodes that it has asked (push_permits.h).
using PushToken = std::array<std::byte, 16>;

struct StagePlan : StageSettings {
    struct Node {
        std::string name;
        std::string address;  ///< Numeric, IPv4 or IPv6.

        bool operator==(const Node&) const = default;
    };

    std::array<std::byte, 32> digest{};
    std::uint16_t width = 1;         ///< The width of the control tree.
    std::uint64_t context_base = 0;  ///< The base of PMIx groups' context ids.
    bool relays = false;             ///< By TCP from node to node; no multicast.
    /// The specs of a push, which root has given and no plugin announces; empty for a job.
    std::string push_specs;
    PushToken push_token{};
    bool is_root_spared = false;  ///< The root of a push only sends, and keeps no copy.
    /// The request of the root's plugin if the job was requeued, for a node whose slurmd omits
    /// the prolog (requeued_request.h).
    std::optional<StageRequest> request;
    std::vector<Node> nodes;  ///< By rank.

    StagePlan() = default;
    StagePlan(const StagePlan&) = default;
    StagePlan& operator=(const StagePlan&) = default;
    ~StagePlan();  ///< Wipes key and token.

    bool operator==(const StagePlan&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const StagePlan& plan);
/// Fails (Blame::node) unless `bytes` are exactly one plan.
[[nodiscard]] Result<StagePlan> decode_plan(Bytes bytes);

/// A request that a message may have. take: `reader` fails unless it is of a stage.
void put_request(ByteWriter& writer, const std::optional<StageRequest>& request);
[[nodiscard]] std::optional<StageRequest> take_request(ByteReader& reader);

/// SHA-256 of what root and node must agree on: specs, node list, owner.
[[nodiscard]] std::array<std::byte, 32> digest_of(const StageRequest& request);

}  // namespace stage
