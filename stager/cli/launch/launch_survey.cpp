#include "stager/cli/launch/launch_survey.h"

#include "stager/cli/launch/launch_words.h"
#include "stager/cli/push/push_report.h"
#include "stager/slurm/host_list.h"
#include "transport/base/address.h"
#include "transport/os/unique_fd.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

namespace stage {
namespace {

using State = LaunchNode::State;
using Nodes = LaunchNodes;

/// Blocks as long as the resolver does.
Result<IpAddress> resolve_host(const std::string& name) {
    if (const auto address = parse_ip(name)) {
        return *address;
    }
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list{found, ::freeaddrinfo};
    if (status != 0) {
        return Error{Blame::user, name + ": " + ::gai_strerror(status)};
    }
    TRY(const auto address, Address::from_socket(list->ai_addr, list->ai_addrlen));
    return address.ip;
}

bool is_own_address(const IpAddress& ip) {
    const Address address{.ip = ip, .port = 0};
    const UniqueFd socket{::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const SocketAddress place = address.to_socket();
    return socket && ::bind(socket.get(), place.get(), place.length) == 0;
}

void resolve(Nodes& nodes) {
    for (LaunchNode& node : nodes) {
        const auto address = resolve_host(node.name);
        if (!address) {
            node.fail("its address is not known: " + address.error().sentence());
            continue;
        }
        node.address = *address;
        node.is_own = is_own_address(*address);
        // This host needs no launcher.
        node.state = node.is_own ? State::fit : State::waiting;
    }
}

/// Excludes nodes that are down: one would block the whole step.
Status ask_slurm(Nodes& nodes, const PushOptions& options, const Config& site) {
    const auto listed = carry_out({Command{.words = {"sinfo",
                                                     "--noheader",
                                                     "--Node",
                                                     "--format=%N %t",
                                                     "--nodes=" + options.node_list},
                                           .input = {}}},
                                  {.longest = 4 * site.connect_timeout});
    if (!listed || listed->front().code != 0) {
        return Error{Blame::node,
                     "sinfo does not report the nodes' states: " +
                         (listed ? complaint({{}, lines_of(listed->front().err)}, "no answer")
                                 : listed.error().sentence())};
    }
    std::map<std::string, std::string> states;
    for (const std::string& line : lines_of(listed->front().out)) {
        const std::size_t blank = std::min(line.find(' '), line.size() - 1);
        states[line.substr(0, blank)] = line.substr(blank + 1);
    }
    for (LaunchNode& node : nodes) {
        const std::string& state = states[node.name];
        const bool is_there = !state.empty() && !state.ends_with('*') &&
                              !state.starts_with("down") && !state.starts_with("unk");
        if (!is_there) {
            node.fail(state.empty() ? "Slurm knows no such node" : "Slurm reports " + state);
        }
    }
    return {};
}

void judge(LaunchNode& node, const Heard& heard, const std::string& otherwise) {
    const bool is_fit = std::ranges::any_of(heard.out, [](const std::string& line) {
        return line.starts_with("stagecast-worker ");
    });
    node.state = is_fit ? State::fit : State::failed;
    node.why = is_fit ? "" : complaint(heard, otherwise);
}

/// The nodes in the state `waiting`.
Status try_nodes(Nodes& nodes, const PushOptions& options, const Config& site) {
    std::vector<std::string> names;
    for (const LaunchNode& node : nodes) {
        if (node.state == State::waiting) {
            names.push_back(node.name);
        }
    }
    if (names.empty()) {
        return {};
    }
    const bool is_srun = options.launcher == Launcher::srun;
    const std::string words = probe_words(site, options);
    std::vector<Command> commands;
    for (auto& line : launch_lines(
             options.launcher, launch_of(site, names, is_srun ? saying_node(words) : words))) {
        commands.push_back({.words = std::move(line), .input = {}});
    }
    const Duration longest = 4 * site.connect_timeout;
    TRY(const auto ended, carry_out(commands, {.longest = longest}));
    const std::vector<Heard> heard = heard_by_node(options.launcher, ended, names);
    for (LaunchNode& node : nodes) {
        if (node.state == State::waiting) {
            const auto place =
                static_cast<std::size_t>(std::ranges::find(names, node.name) - names.begin());
            const bool is_own = options.launcher == Launcher::ssh;  // A process for each node.
            const Ended& process = is_own ? ended.at(place) : ended.front();
            judge(node, heard[place], why_silent(options.launcher, process, longest));
        }
    }
    return {};
}

}  // namespace

Result<std::vector<Ended>> carry_out(const std::vector<Command>& commands,
                                     CommandLimits limits) {
    limits.stops = has_end_signal;
    return run_commands(commands, limits);
}

Launch launch_of(const Config& site, std::vector<std::string> nodes, std::string command) {
    const auto connect =
        std::chrono::duration_cast<std::chrono::seconds>(site.connect_timeout).count();
    const bool has_job =
        std::getenv("SLURM_JOB_ID") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    return {.nodes = std::move(nodes),
            .command = std::move(command),
            .connect_s = static_cast<unsigned>(std::max<std::int64_t>(1, connect)),
            .is_without_job = ::geteuid() == 0 && !has_job};
}

Result<LaunchNodes> survey(const PushOptions& options, const Config& site) {
    TRY(const auto names, expand_host_list(options.node_list));
    Nodes nodes;
    for (const std::string& name : names) {
        nodes.push_back({{.name = name}});
    }
    if (options.launcher == Launcher::srun) {
        TRY(ask_slurm(nodes, options, site));
    } else {
        resolve(nodes);
    }
    TRY(try_nodes(nodes, options, site));
    return nodes;
}

}  // namespace stage
