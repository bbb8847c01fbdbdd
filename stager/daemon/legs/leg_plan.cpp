#include "stager/daemon/legs/leg_plan.h"

#include "stager/daemon/planning/planner.h"
#include "stager/link/cluster_name.h"

#include <algorithm>
#include <utility>

namespace stage {

std::vector<NamedText> routes_to(const Config& config, const std::string& cluster) {
    std::vector<NamedText> routes;
    for (const NamedText& route : config.routes) {
        if (cluster_of(route.name) == cluster) {
            routes.push_back(route);
        }
    }
    return routes;
}

bool is_of_leg(const StageSpec& spec) {
    return !spec.is_list && !spec.is_with_libraries && is_plain_path(spec.source) &&
           spec.source.find('%') == std::string::npos && !spec.destination.empty() &&
           spec.destination.find('/') == std::string::npos;
}

StagePlan plan_of_leg(const Config& config,
                      const DataPorts& ports,
                      LegEnds ends,
                      std::string specs,
                      const PushToken& token,
                      std::uint64_t rate) {
    StagePlan plan = draw_plan(config, ports, StageRequest{});
    plan.push_specs = std::move(specs);
    plan.push_token = token;
    plan.cards_follow = true;
    plan.relays = true;
    plan.is_root_spared = true;
    plan.drops_failed = false;  // Without either end there is no leg.
    if (rate > 0) {
        plan.rate_max = std::min(plan.rate_max, rate);
    }
    plan.nodes.push_back(std::move(ends.source));
    plan.nodes.push_back(std::move(ends.target));
    return plan;
}

}  // namespace stage
