// What does a node's worker come to, and all of them together?
//
// A line of each rises in Collective::outcome; where none has failed the root makes the group's
// verdict of them. Failures take another way (failures.h): they do not wait for anybody.
#pragma once

#include "stager/daemon/tree/tree_message.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct NodeOutcome {
    VerdictState state = VerdictState::ok;  ///< ok or partial.
    std::string sentence;                   ///< Of what is missing, if partial.
    std::string statistics;                 ///< statistics_to_tell().

    bool operator==(const NodeOutcome&) const = default;
};

/// Of a worker's line, whoever wrote it, what the root tells of a node (stage_description.cpp):
/// the whole line is longer than what may rise, and half of one says nothing.
[[nodiscard]] std::string statistics_to_tell(const std::string& statistics);

/// Of one of `nodes`, all of which have to fit one message: a sentence is cut, statistics are
/// left out.
[[nodiscard]] std::vector<std::byte> encode(const NodeOutcome& outcome, std::size_t nodes = 1);
[[nodiscard]] std::optional<NodeOutcome> decode_node_outcome(Bytes bytes);

/// The verdict of a group in which nobody failed: ok, or partial with who misses what.
[[nodiscard]] GroupVerdict verdict_of(const std::vector<Contribution>& outcomes,
                                      const std::vector<std::string>& names);

}  // namespace stage
