// Combines the outcomes of the nodes' workers into the group's verdict.
//
// Each node's outcome goes up in Collective::outcome; if no node has failed, the root makes the
// verdict of them. Failures are reported separately (failures.h) and wait for no other node.
#pragma once

#include "stager/daemon/tree/tree_message.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct NodeOutcome {
    VerdictState state = VerdictState::ok;  ///< ok or partial.
    std::string sentence;                   ///< What is missing, if partial.
    std::string statistics;                 ///< From statistics_to_tell().

    bool operator==(const NodeOutcome&) const = default;
};

/// The part of a worker's statistics that the root reports of a node (stage_description.cpp):
/// the whole line may be too long for the collective, and half of it can't be parsed. The line
/// may contain anything, because the worker is the user's process.
[[nodiscard]] std::string statistics_to_tell(const std::string& statistics);

/// The outcome of one of `nodes`, all of which have to fit one message: sentences are cut,
/// statistics are left out.
[[nodiscard]] std::vector<std::byte> encode(const NodeOutcome& outcome, std::size_t nodes = 1);
[[nodiscard]] std::optional<NodeOutcome> decode_node_outcome(Bytes bytes);

/// The verdict of a group without failures: ok, or partial with the nodes and what they miss.
[[nodiscard]] GroupVerdict verdict_of(const std::vector<Contribution>& outcomes,
                                      const std::vector<std::string>& names);

}  // namespace stage
