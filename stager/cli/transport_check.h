// Finds out for `stagecast doctor --multicast` which transport a stage of some nodes would use.
//
// The answer is that of a stage: this node's daemon pushes a file of some bytes, with itself as
// the source, to a place that the push's end removes. So it takes what a push takes: root here,
// and PushFrom on the other nodes.
#pragma once

#include "stager/cli/common/finding.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace stage {

struct TransportQuestion {
    std::string config;     ///< Path of stagecast.conf; empty: the default one.
    std::string node_list;  ///< In Slurm's notation.
    bool wants_json = false;
};

/// What the report of such a push says: each node that took no part, the transport, and why not
/// the other one.
[[nodiscard]] std::vector<Finding> judge_transport(const nlohmann::json& report);

/// Prints the findings, or the report as JSON. Returns the exit code: 0 all nodes took part, 1
/// some of them, 2 none, or one of sysexits.h.
[[nodiscard]] int check_transport(const TransportQuestion& question);

}  // namespace stage
