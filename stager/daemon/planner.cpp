#include "stager/daemon/planner.h"

#include <algorithm>
#include <array>

namespace stage {
namespace {

// The worker and the plan's other readers count as Config does (stager/worker/setup.h).
static_assert(static_cast<int>(Protection::none) == 0 &&
              static_cast<int>(Protection::auth) == 1 &&
              static_cast<int>(Protection::encrypt) == 2);

/// Slurm's answer, where what it said before would do.
constexpr Duration kPatienceIfKnown = std::chrono::seconds{2};

std::string dotted(GroupAddress address) {
    std::string text;
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        text += (text.empty() ? "" : ".") + std::to_string((address >> (shift - 8)) & 0xffU);
    }
    return text;
}

}  // namespace

StagePlan draw_plan(const Config& config, const StageRequest& request) {
    StagePlan plan;
    plan.session = random_value<std::array<std::byte, 16>>();
    plan.group_key = random_value<std::array<std::byte, 32>>();
    plan.digest = digest_of(request);
    plan.width = static_cast<std::uint16_t>(config.tree_width);
    plan.context_base = random_value<std::uint64_t>();
    const auto draw = random_value<std::uint64_t>();
    const std::size_t rails = config.most_rails();
    const std::size_t lanes = std::max<std::size_t>(config.lanes, rails);
    plan.rails = static_cast<std::uint8_t>(rails);
    plan.group_address = dotted(config.group_at(draw % config.group_count(rails), rails));
    const auto& ports = config.data_port_range;
    // The last lane's port is in the range, too.
    const auto port_count =
        static_cast<unsigned>(static_cast<std::size_t>(ports.last - ports.first) + 2U - lanes);
    const auto port_draw = random_value<std::uint32_t>();
    plan.group_port = static_cast<std::uint16_t>(ports.first + port_draw % port_count);
    plan.protection = static_cast<std::uint8_t>(config.protection);
    plan.rate_max = config.rate_max * 8;
    plan.rate_told = !config.rate_search;
    plan.policies = {.rate_control = config.rate_control,
                     .repair_peers = config.repair_peers,
                     .readiness = config.readiness,
                     .lanes = static_cast<std::uint8_t>(lanes),
                     .group_leave = config.group_leave};
    return plan;
}

void Planner::make(const StageRequest& request,
                   std::vector<std::string> names,
                   OnPlan on_plan) {
    const bool is_alone = names.size() == 1;
    const bool remembered_all = remembered(names).has_value();
    const SlurmAnswer own{std::vector<SlurmNode>{{.name = names.front(), .address = {}}}};
    auto complete_with = [this, request, names = std::move(names), call = std::move(on_plan)](
                             const Result<SlurmAnswer>& answer) {
        call(complete(request, names, answer));
    };
    if (!is_alone) {
        asker_.ask(ResolveQuestion{request.node_list},
                   std::move(complete_with),
                   remembered_all ? kPatienceIfKnown : kSlurmAnswerMax);
        return;
    }
    services_.loop.defer([own, complete_with, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            complete_with(own);
        }
    });
}

/// Where the nodes were when Slurm last said so; nothing if it has never said it of one of
/// them.
std::optional<std::vector<SlurmNode>> Planner::remembered(
    const std::vector<std::string>& names) const {
    std::vector<SlurmNode> nodes;
    for (const std::string& name : names) {
        const auto found = services_.addresses.find(name);
        if (found == services_.addresses.end()) {
            return std::nullopt;
        }
        nodes.push_back({.name = name, .address = found->second});
    }
    return nodes;
}

Result<StagePlan> Planner::complete(const StageRequest& request,
                                    const std::vector<std::string>& names,
                                    const Result<SlurmAnswer>& answer) {
    const auto known = answer ? std::nullopt : remembered(names);
    if (!answer && !known) {
        return Error{answer.error()}.within("looking up the nodes' addresses");
    }
    const auto* nodes = known ? &*known : std::get_if<std::vector<SlurmNode>>(&*answer);
    if (nodes == nullptr || nodes->size() != names.size()) {
        return Error{Blame::internal, "Slurm counts other nodes in " + request.node_list};
    }
    StagePlan plan = draw_plan(services_.config, request);
    // Who is alone needs no cards at all, and no PMIx host that would wait for it. A host never
    // serves root. What this node's hosts can't do those of the others hardly can.
    plan.cards_follow = names.size() == 1 || names.size() >= kCardsFollowFrom ||
                        request.uid == 0 || !services_.hosts.can_serve();
    for (std::size_t rank = 0; rank < names.size(); ++rank) {
        if (nodes->at(rank).name != names[rank]) {
            return Error{Blame::internal, "Slurm orders other nodes in " + request.node_list};
        }
        plan.nodes.push_back({names[rank], nodes->at(rank).address});
        if (answer && names.size() > 1) {
            services_.addresses[names[rank]] = nodes->at(rank).address;
        }
    }
    return plan;
}

}  // namespace stage
