// What must all nodes of a stage have in common?
//
// The root draws it once the job is announced there, and it goes down the tree inside SETUP,
// sealed: the session, its key, where packets go, and who is who. It says nothing about what to
// stage or as whom: that comes from each node's own plugin, and the digest proves that root and
// node were told the same. Only a push (push_rules.h says who may) and a requeued job have
// their specs here.
#pragma once

#include "stager/config/policies.h"
#include "stager/control/message.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Of one push: known to its source and the nodes that it has asked (push_permits.h).
using PushToken = std::array<std::byte, 16>;

struct StagePlan {
    struct Node {
        std::string name;
        std::string address;  ///< Numeric, of any family.

        bool operator==(const Node&) const = default;
    };

    std::array<std::byte, 16> session{};
    std::array<std::byte, 32> group_key{};
    std::array<std::byte, 32> digest{};
    std::uint16_t width = 1;         ///< Of the tree.
    std::uint64_t context_base = 0;  ///< Of PMIx groups.
    std::string group_address;       ///< Numeric; empty: no multicast.
    std::uint16_t group_port = 0;
    std::uint8_t rails = 1;       ///< Neighbouring addresses of the group; at most its flows.
    std::uint8_t protection = 2;  ///< As Config counts: 2 is encrypt.
    std::uint64_t rate_max = 0;   ///< Bits per second.
    bool rate_told = false;       ///< Send at it.
    Policies policies;            ///< The root's.
    /// Of the task of an array whose names may want them (spec/name_pattern.h); else 0.
    std::uint32_t array_job_id = 0;
    std::uint32_t array_task_id = 0;
    bool cards_follow = false;  ///< Cards go through the daemons, not through PMIx.
    /// Of a push: what goes where. Root's order, for which no plugin speaks. Empty: a job's.
    std::string push_specs;
    PushToken push_token{};
    bool is_root_spared = false;  ///< The root of a push sends and keeps no copy.
    /// Of a requeued job: what the root's plugin was told, for a node whose slurmd leaves the
    /// prolog out (stage_late.cpp).
    std::optional<StageRequest> request;
    std::vector<Node> nodes;      ///< By rank.

    [[nodiscard]] bool is_push() const { return !push_specs.empty(); }

    StagePlan() = default;
    StagePlan(const StagePlan&) = default;
    StagePlan& operator=(const StagePlan&) = default;
    ~StagePlan();  ///< Wipes key and token.

    bool operator==(const StagePlan&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const StagePlan& plan);
/// Fails (Blame::node) on anything but one whole plan.
[[nodiscard]] Result<StagePlan> decode_plan(Bytes bytes);

/// Of what root and node must agree on: specs, node list, owner. SHA-256.
[[nodiscard]] std::array<std::byte, 32> digest_of(const StageRequest& request);

}  // namespace stage
