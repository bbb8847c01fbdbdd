#include "stager/daemon/run/worker_order.h"

#include "stager/messages/stage_traits.h"

#include <algorithm>

namespace stage {
namespace {

/// Under memory pressure the kernel should kill a worker before slurmd.
constexpr int kWorkerOomScore = 600;
constexpr std::chrono::milliseconds kShortest{1};

std::chrono::milliseconds in_ms(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace

std::string process_group_name(const StageKey& key) {
    const std::string step =
        key.step_id == kWholeJob ? std::string{"job"} : std::to_string(key.step_id);
    return std::to_string(key.job_id) + "." + step + "." + std::to_string(key.restart);
}

void allow(const Config& config, WorkerSetup& setup) {
    const StageTraits& traits = traits_of(setup.key);
    setup.dest_roots = traits.is_roots_own ? config.push_roots : config.dest_roots;
    setup.keeps_owners = !traits.is_roots_own || config.push_set_id;
    setup.may_cache = traits.may_cache && config.cache_size > 0;
    setup.max_bytes = config.max_bytes;
}

WorkerSetup worker_setup(const Config& config, const RunOrder& order, const RunPlace& place) {
    const StagePlan& plan = order.plan;
    WorkerSetup setup;
    static_cast<StageSettings&>(setup) = plan;
    setup.key = order.request.key;
    setup.rank = order.self;
    setup.source = Rank{0};
    for (const StagePlan::Node& node : plan.nodes) {
        setup.nodes.push_back(node.name);
    }
    setup.specs = order.request.specs;
    setup.work_dir = order.request.work_dir;
    setup.stage_dir = place.directory;
    setup.dest_subdir =
        setup.key.step_id == kWholeJob ? "" : "step." + std::to_string(setup.key.step_id);
    allow(config, setup);
    for (const Endpoint& endpoint : place.endpoints) {
        setup.endpoints.push_back(
            {.fabric = endpoint.fabric,
             .descriptors = static_cast<std::uint8_t>(endpoint.descriptors.size()),
             .description = endpoint.description});
    }
    setup.rate_max = std::min(plan.rate_max, config.rate_max * 8);
    setup.may_compress = config.compress == Compress::automatic;
    setup.transport = plan.relays ? Transport::tcp : plan.transport;
    setup.stage_timeout = std::max(in_ms(order.deadline - place.now), kShortest);
    setup.stall_timeout = in_ms(config.stall_timeout);
    setup.wire_up_timeout = in_ms(config.stage_timeout);
    setup.connect_timeout = in_ms(config.connect_timeout);
    setup.data_ports = std::to_string(config.data_port_range.first) + "-" +
                       std::to_string(config.data_port_range.last);
    setup.linger = in_ms(config.stall_timeout);
    if (plan.is_root_spared && order.self == setup.source) {
        setup.purpose = WorkerPurpose::lend;
    }
    if (order.passage) {
        setup.purpose = order.passage->purpose;
    }
    return setup;
}

std::vector<int> descriptors_of(std::span<const Endpoint> endpoints,
                                const std::optional<RunPassage>& passage) {
    std::vector<int> numbers;
    for (const Endpoint& endpoint : endpoints) {
        for (const UniqueFd& descriptor : endpoint.descriptors) {
            numbers.push_back(descriptor.get());
        }
    }
    if (passage && passage->file) {
        numbers.push_back(passage->file->get());
    }
    return numbers;
}

ProgramRequest worker_program(const Config& config,
                              const StageRequest& request,
                              std::vector<std::string> environment) {
    environment.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
    environment.emplace_back("HOME=/");  // PMIx' client crashes without HOME.
    environment.emplace_back("LC_ALL=C");
    environment.emplace_back("STAGECAST_CONTROL_FD=" + std::to_string(kWorkerControlFd));
    return {.path = config.libexec_dir + "/stagecast-worker",
            .arguments = {"stagecast-worker"},
            .environment = std::move(environment),
            .user = UserIdentity{request.uid, request.gid, {}},
            .umask = 022,
            .oom_score_adj = kWorkerOomScore,
            .group = "stage-" + process_group_name(request.key)};
}

}  // namespace stage
