// Plans a leg: the stage of two members by which files go from one cluster to another.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/tree/plan.h"
#include "stager/spec/stage_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stage {

class DataPorts;

/// The gateways of `cluster` with their addresses, the best first (Routes=).
[[nodiscard]] std::vector<NamedText> routes_to(const Config& config,
                                               const std::string& cluster);

/// Whether a spec can be of a leg for a job: a file or directory by its plain path, with a
/// destination in the stage's own directory. Nothing else is made on either node.
[[nodiscard]] bool is_of_leg(const StageSpec& spec);

struct LegEnds {
    StagePlan::Node source;  ///< This node, as the other cluster calls it.
    StagePlan::Node target;  ///< With its address.
};

/// A leg joins no multicast group, and its source keeps no copy. `rate`: a limit, bits per
/// second; 0: the site's. The caller sets StagePlan::digest.
[[nodiscard]] StagePlan plan_of_leg(const Config& config,
                                    const DataPorts& ports,
                                    LegEnds ends,
                                    std::string specs,
                                    const PushToken& token,
                                    std::uint64_t rate);

}  // namespace stage
