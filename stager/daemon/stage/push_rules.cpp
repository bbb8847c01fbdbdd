#include "stager/daemon/stage/push_rules.h"

#include "stager/config/push_sources.h"
#include "stager/slurm/host_list.h"
#include "stager/spec/destination.h"
#include "stager/spec/spec_list.h"
#include "transport/base/text.h"
#include "transport/os/root_directory.h"

#include <algorithm>

namespace stage {
namespace {

bool lies_below(const std::string& path, const std::string& root) {
    const std::string bare = root == "/" ? "" : root;
    return path.size() > bare.size() + 1 && path.starts_with(bare) && path[bare.size()] == '/';
}

bool is_from_network(const Config& config, const PushSource& source) {
    return std::ranges::any_of(config.push_from, [&](const std::string& entry) {
        return is_network(entry) && is_in_network(source.address, entry);
    });
}

bool is_named(const Config& config, const PushSource& source) {
    return std::ranges::any_of(config.push_from, [&](const std::string& entry) {
        const auto names =
            is_network(entry) ? Result<std::vector<std::string>>{{}} : expand_host_list(entry);
        return names && position_of(*names, source.node);
    });
}

std::optional<std::string> objection_to_place(const Config& config, const std::string& path) {
    if (config.push_roots.empty()) {
        return "PushRoots in this node's stagecast.conf is empty, so nothing may be pushed "
               "here; name the directories there";
    }
    const bool is_allowed = std::ranges::any_of(
        config.push_roots, [&](const std::string& root) { return lies_below(path, root); });
    return is_allowed ? std::nullopt
                      : std::optional{path + ": lies below none of this node's PushRoots (" +
                                      joined(config.push_roots, ", ") + ")"};
}

}  // namespace

bool needs_address(const Config& config, const PushSource& source) {
    return !is_from_network(config, source) && is_named(config, source);
}

std::optional<std::string> objection_to_source(const Config& config,
                                               const PushSource& source,
                                               const std::string& known) {
    const std::string node = "node " + printable(source.node);
    const std::string address = to_string(source.address);
    if (config.push_from.empty()) {
        return "PushFrom in this node's stagecast.conf is empty, so no other node may push "
               "here; name the nodes there that may, such as " +
               printable(source.node);
    }
    if (is_from_network(config, source)) {
        return std::nullopt;
    }
    if (!is_named(config, source)) {
        return node + " at " + address + " is none of this node's PushFrom (" +
               joined(config.push_from, ", ") + "), so it may not push here";
    }
    if (known.empty()) {
        return "the address of " + node +
               " is not known here, so PushFrom can't tell whether it is " + address +
               "; if so, name that in PushFrom, too";
    }
    return parse_ip(known) == source.address
               ? std::nullopt
               : std::optional{node + " connects from " + address + ", but its address is " +
                               known + "; if it has both, name " + address +
                               " in this node's PushFrom, too"};
}

std::optional<std::string> objection_to_push(const Config& config, const std::string& specs) {
    if (!config.enabled) {
        return "staging is switched off here (Enabled=no in stagecast.conf)";
    }
    const auto parsed = parse_serialized(specs);
    if (!parsed) {
        return parsed.error().sentence();
    }
    for (const StageSpec& spec : *parsed) {
        const auto destination = destination_of(spec);
        if (!destination || spec.is_list) {
            return "a push goes to one destination";
        }
        if (spec.is_unpacked || spec.is_with_libraries) {
            return "a push neither unpacks archives nor brings libraries";
        }
        if (!destination->is_absolute) {
            if (destination->path.find('/') != std::string::npos) {
                return "a push goes to an absolute destination";
            }
            continue;  // It is removed with the push's own directory, when the push ends.
        }
        if (auto objection = objection_to_place(config, destination->path)) {
            return objection;
        }
    }
    return std::nullopt;
}

void warn_of_push_roots(const Config& config, const Logger& log) {
    for (const std::string& root : config.push_roots) {
        if (const auto fit = open_root_directory("PushRoots", root, false); !fit) {
            log.warn("pushes to this directory will be refused",
                     {{"why", fit.error().sentence()}});
        }
    }
}

StageRequest request_of_push(const StageKey& key,
                             const StagePlan& plan,
                             const std::string& name) {
    StageRequest request;
    request.key = key;
    request.node_name = name;
    request.node_list = joined(plan.nodes, ",", &StagePlan::Node::name);
    request.work_dir = "/";
    request.specs = plan.push_specs;
    return request;
}

}  // namespace stage
