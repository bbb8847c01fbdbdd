// Fuzzes the plan that the control tree distributes.
#include "stager/daemon/tree/plan.h"
#include "tests/fuzz/fuzz.h"

namespace stage {

bool fuzz_one(Bytes input) {
    return is_stable(input, decode_plan, [](const StagePlan& plan) {
        invariant(!plan.nodes.empty() && plan.width >= 1, "a plan has nodes, a tree branches");
        invariant(plan.rails >= 1 && plan.rails <= plan.policies.flows, "a rail has a flow");
        return encode(plan);
    });
}

std::vector<FuzzSeed> fuzz_seeds() {
    StagePlan plan;
    plan.session.fill(std::byte{1});
    plan.group_key.fill(std::byte{2});
    plan.digest.fill(std::byte{3});
    plan.width = 16;
    plan.context_base = 1ULL << 40U;
    plan.nodes = {{"n0", "10.77.1.1"}};
    const auto one = encode(plan);
    plan.group_address = "239.192.0.7";
    plan.group_port = 6835;
    plan.rails = 2;
    plan.policies.flows = 4;
    plan.protection = Protection::encrypt;
    plan.rate_max = 1'000'000'000;
    plan.cards_follow = true;
    plan.push_specs = "1;wd,/a/b,/images/b";
    plan.is_root_spared = true;
    plan.drops_failed = true;
    plan.nodes.push_back({"n1", "fd00::1"});
    return {{"one_node", one}, {"two_nodes", encode(plan)}};
}

}  // namespace stage
