// Combines the outcomes of the nodes' workers into the group's verdict.
//
// Each node's outcome goes up in Collective::outcome; if no node has failed, the root makes the
// verdict of them. Failures are reported separately (failures.h) and wait for no other node. In
// a group that drops failed nodes (group/decision.h) a node's failure is an outcome, too.
#pragma once

#include "stager/daemon/tree/tree_message.h"
#include "stager/messages/worker_statistics.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct NodeOutcome {
    VerdictState state = VerdictState::ok;       ///< ok, partial or failed.
    Blame blame = Blame::user;                   ///< The party to blame for what is not ok.
    std::string sentence;                        ///< What is missing, or why it failed.
    std::optional<NodeStatistics> statistics{};  ///< Empty if the node has no result.

    bool operator==(const NodeOutcome&) const = default;
};

/// The outcome of one of `nodes`, all of which have to fit one message: sentences are cut,
/// statistics are left out.
[[nodiscard]] std::vector<std::byte> encode(const NodeOutcome& outcome, std::size_t nodes = 1);
[[nodiscard]] std::optional<NodeOutcome> decode_node_outcome(Bytes bytes);

/// The verdict of a group without failures: ok, or partial with the nodes and what they miss.
[[nodiscard]] GroupVerdict verdict_of(const std::vector<Contribution>& outcomes,
                                      const std::vector<std::string>& names);

/// The verdict of a group that drops failed nodes: `failures` are those that are known already,
/// and get the nodes whose outcome is a failure, or is missing. Failed if no node but the root
/// is left, or if the names of the dropped exceed kMaxDroppedBytes.
[[nodiscard]] GroupVerdict verdict_without_failed(const std::vector<Contribution>& outcomes,
                                                  const std::vector<std::string>& names,
                                                  Failures& failures);

/// The dropped nodes' names, with commas between them.
[[nodiscard]] std::string names_of_dropped(const GroupVerdict& verdict,
                                           const std::vector<std::string>& names);

}  // namespace stage
