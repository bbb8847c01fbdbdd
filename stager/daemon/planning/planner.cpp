#include "stager/daemon/planning/planner.h"

#include "pmix/wire_up_kind.h"
#include "stager/config/transport_choice.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/planning/requeued_request.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/messages/stage_traits.h"
#include "stager/slurm/host_list.h"
#include "stager/spec/name_pattern.h"
#include "stager/spec/spec_list.h"
#include "transport/base/ip_address.h"
#include "transport/base/random_value.h"
#include "transport/base/text.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace stage {
namespace {

/// For Slurm's answer, if an earlier one could be used instead.
constexpr Duration kTimeoutIfKnown = std::chrono::seconds{2};

/// Whether a pattern may need the array's ids, which only slurmctld knows (slurmd does not pass
/// them to a prolog). The names in an `@LIST` are not known yet.
bool may_name_array(std::string_view specs) {
    const auto parsed = parse_serialized(specs);
    return parsed && std::ranges::any_of(*parsed, [](const StageSpec& spec) {
               return spec.is_list || has_array_pattern(spec.source) ||
                      has_array_pattern(spec.destination) ||
                      std::ranges::any_of(spec.excludes, has_array_pattern);
           });
}

}  // namespace

std::optional<std::uint16_t> draw_port(const Config& config,
                                       const DataPorts& ports,
                                       const StagePlan& plan,
                                       const DataPorts::Ports& excluded) {
    return ports.draw(
        config.data_port_range, plan.policies.flows, random_value<std::uint32_t>(), excluded);
}

StagePlan draw_plan(const Config& config, const DataPorts& ports, const StageRequest& request) {
    StagePlan plan;
    plan.session = random_value<std::array<std::byte, 16>>();
    plan.group_key = random_value<std::array<std::byte, 32>>();
    plan.digest = digest_of(request);
    if (may_lack_prolog(request.key) && fits(request)) {
        plan.request = request;
    }
    plan.width = static_cast<std::uint16_t>(config.tree_width);
    plan.context_base = random_value<std::uint64_t>();
    const auto draw = random_value<std::uint64_t>();
    const std::size_t rails = config.most_rails();
    plan.rails = static_cast<std::uint8_t>(rails);
    plan.group_address =
        to_string(ip_v4(config.group_at(draw % config.group_count(rails), rails)));
    plan.transport = config.transport;
    plan.relays = choose_transport({.configured = config.transport,
                                    .has_interface = !config.interfaces.empty()})
                      .way == TransportChoice::Way::relay;
    plan.protection = config.protection;
    plan.rate_max = config.rate_max * 8;
    plan.rate_is_configured = !config.rate_search;
    plan.policies = config.policies;
    plan.policies.flows = std::max(plan.policies.flows, plan.rails);
    plan.drops_failed =
        !traits_of(request.key).has_job ||
        (config.on_node_fault == OnNodeFault::drop && request.key.step_id == kWholeJob &&
         options_in(request.specs).is_no_kill);
    // If none is free here, the node reports that when it opens its sockets.
    plan.group_port = draw_port(config, ports, plan, {}).value_or(config.data_port_range.first);
    return plan;
}

std::optional<Error> objection_to_nodes(const std::vector<std::string>& names,
                                        const SlurmJob& job) {
    if (job.state == SlurmJobState::absent) {
        return Error{Blame::user, "Slurm does not know the job"};
    }
    const auto nodes = expand_host_list(job.node_list);
    if (!nodes) {
        return Error{Blame::node, "slurmctld did not return the job's nodes"};
    }
    const std::unordered_set<std::string> all{nodes->begin(), nodes->end()};
    for (const std::string& name : names) {
        if (!all.contains(name)) {
            return Error{Blame::user,
                         "the step's node list names " + name +
                             ", which is not a node of the job (" + job.node_list +
                             "); don't set SLURM_STEP_NODELIST"};
        }
    }
    return std::nullopt;
}

void Planner::make(const StageRequest& request,
                   std::vector<std::string> names,
                   OnPlan on_plan) {
    request_ = request;
    names_ = std::move(names);
    on_plan_ = std::move(on_plan);
    // A step on this node alone involves no other daemon, so its list need not be confirmed.
    const bool is_believed =
        names_.size() == 1 || (request_.key.step_id == kWholeJob && !request_.is_late);
    if (is_believed && !may_name_array(request_.specs)) {
        find_addresses();
        return;
    }
    asker_.ask(JobStateQuestion{request_.key.job_id},
               [this](const Result<SlurmAnswer>& answer) { on_job(answer); });
}

void Planner::on_job(const Result<SlurmAnswer>& answer) {
    const auto* job = answer ? std::get_if<SlurmJob>(&*answer) : nullptr;
    if (job == nullptr) {
        on_plan_(
            (answer ? Error{Blame::internal, "another answer than asked for"} : answer.error())
                .within("asking Slurm for the nodes and the array of the job"));
        return;
    }
    job_ = *job;
    const bool is_slurmds =
        names_.size() == 1 || (request_.key.step_id == kWholeJob && !request_.is_late);
    if (auto objection = !is_slurmds ? objection_to_nodes(names_, *job) : std::nullopt) {
        on_plan_(*std::move(objection));
        return;
    }
    find_addresses();
}

/// The nodes for which Slurm has to be asked.
std::vector<std::string> Planner::unknown() const {
    const Instant now = basics_.loop.now();
    std::vector<std::string> unknown;
    for (const std::string& name : names_) {
        if (!addresses_.is_fresh(name, now)) {
            unknown.push_back(name);
        }
    }
    return unknown;
}

/// Whether all addresses are known, of whatever age.
bool Planner::has_all() const {
    return std::ranges::all_of(
        names_, [&](const std::string& name) { return addresses_.of(name).has_value(); });
}

/// A stage on one node needs no addresses.
void Planner::find_addresses() {
    const auto missing = names_.size() == 1 ? std::vector<std::string>{} : unknown();
    if (missing.empty()) {
        basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
            if (!alive.expired()) {
                on_plan_(complete());
            }
        });
        return;
    }
    const std::string list = joined(missing, ",");
    // Either list is correct; a long list of single names might not fit.
    const bool is_short = list.size() < request_.node_list.size() || missing.size() == 1;
    asker_.ask(
        ResolveQuestion{is_short ? list : request_.node_list},
        [this](const Result<SlurmAnswer>& answer) { on_addresses(answer); },
        has_all() ? kTimeoutIfKnown : kSlurmAnswerMax);
}

void Planner::on_addresses(const Result<SlurmAnswer>& answer) {
    const auto* nodes = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    if (nodes == nullptr && !has_all()) {
        on_plan_(
            (answer ? Error{Blame::internal, "another answer than asked for"} : answer.error())
                .within("looking up the nodes' addresses"));
        return;
    }
    for (const SlurmNode& node : nodes != nullptr ? *nodes : std::vector<SlurmNode>{}) {
        addresses_.learn(node.name, node.address, basics_.loop.now());
    }
    on_plan_(complete());
}

Result<StagePlan> Planner::complete() const {
    StagePlan plan = draw_plan(basics_.config, ports_, request_);
    if (job_) {
        plan.array_job_id = job_->array_job_id;
        plan.array_task_id = job_->array_task_id;
    }
    plan.cards_follow = choose_wire_up({.has_pmix = hosts_.can_serve(),
                                        .is_root = request_.uid == 0,
                                        .members = names_.size()}) == WireUpKind::control_tree;
    for (const std::string& name : names_) {
        const auto address = addresses_.of(name);
        if (names_.size() > 1 && !address) {
            return Error{
                Blame::internal,
                "Slurm resolved a different number of nodes for " + request_.node_list};
        }
        plan.nodes.push_back({name, names_.size() > 1 ? *address : std::string{}});
    }
    return plan;
}

}  // namespace stage
