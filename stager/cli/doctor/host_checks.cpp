#include "stager/cli/doctor/host_checks.h"

#include "stager/config/key.h"
#include "stager/config/value.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

namespace stage {
namespace {

/// "n0" for "n0.site.org": slurm.conf may have either.
std::string short_name(const std::string& host) {
    return host.substr(0, host.find('.'));
}

/// The first one on that host, or the end.
auto find(const std::vector<HostedNode>& nodes, const std::string& host) {
    return std::ranges::find_if(nodes, [&](const HostedNode& node) {
        return short_name(node.host) == short_name(host);
    });
}

}  // namespace

bool is_no_node(const std::vector<HostedNode>& nodes, const std::string& host) {
    return !nodes.empty() && find(nodes, host) == nodes.end();
}

std::string node_on(const std::vector<HostedNode>& nodes, const std::string& host) {
    const auto found = find(nodes, host);
    return found == nodes.end() ? "" : found->name;
}

std::string address_on(const std::vector<HostedNode>& nodes, const std::string& host) {
    const auto found = find(nodes, host);
    return found == nodes.end() ? "" : found->address;
}

std::optional<Finding> judge_node_name(const Config& config,
                                       const std::vector<HostedNode>& nodes,
                                       const std::string& host) {
    const std::string& name = config.node_name;
    if (name.empty() || nodes.empty()) {
        return std::nullopt;
    }
    const auto named = std::ranges::find(nodes, name, &HostedNode::name);
    const std::string remedy =
        "; leave NodeName out of stagecast.conf, or let it be " + node_on(nodes, host);
    if (named == nodes.end()) {
        return wrong("NodeName", "Slurm has no node " + name + remedy);
    }
    if (short_name(named->host) != short_name(host)) {
        return wrong("NodeName",
                     name + " is on host " + named->host + ", and this is " + host + remedy);
    }
    return fine("NodeName", name);
}

Finding judge_submissions(const Config& config) {
    const bool sets_none = std::ranges::all_of(config_keys(), [&](const ConfigKey& key) {
        return text_of(key.kind, config) == key.fallback;
    });
    const auto longest =
        std::chrono::duration_cast<std::chrono::seconds>(config.stage_timeout).count();
    const std::string keys =
        "this host judges submissions by its own stagecast.conf: OnNodeFault=" +
        std::string{word_of(config.on_node_fault)} +
        ", StageTimeout=" + std::to_string(longest);
    return sets_none ? doubtful("submission",
                                keys +
                                    ", both by default, as it sets no key; copy the file of "
                                    "the compute nodes")
                     : fine("submission", keys + "; it must be the compute nodes' file");
}

std::string own_host() {
    std::string name(HOST_NAME_MAX + 1, '\0');
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.c_str() : "";
}

}  // namespace stage
