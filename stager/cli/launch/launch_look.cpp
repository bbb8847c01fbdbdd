#include "stager/cli/launch/launch_look.h"

#include "stager/cli/launch/launch_words.h"

namespace stage {
namespace {

using State = LaunchNode::State;
using Nodes = LaunchNodes;

constexpr Duration kReadingMax = std::chrono::hours{25};

bool compares(const PushOptions& options) {
    return options.mode == PushMode::compare;
}

std::vector<std::string> fit_names(const Nodes& nodes, bool with_own) {
    std::vector<std::string> names;
    for (const LaunchNode& node : nodes) {
        if (node.state == State::fit && (with_own || !node.is_own)) {
            names.push_back(node.name);
        }
    }
    return names;
}

/// Runs the command on nodes by the launcher. Returns each node's output.
Result<std::vector<Heard>> ask(const std::vector<std::string>& names,
                               const std::vector<std::string>& words,
                               Duration longest,
                               const PushOptions& options,
                               const Config& site) {
    if (names.empty()) {
        return std::vector<Heard>{};
    }
    const bool is_srun = options.launcher == Launcher::srun;
    const std::string line = (is_srun ? "exec " : "") + shell_line(words);
    const Launch launch = launch_of(site, names, is_srun ? saying_node(line) : line);
    std::vector<Command> commands;
    for (auto& one : launch_lines(options.launcher, launch)) {
        commands.push_back({.words = std::move(one), .input = {}});
    }
    const auto ended = carry_out(commands, {.longest = longest});
    return ended ? Result<std::vector<Heard>>{heard_by_node(options.launcher, *ended, names)}
                 : ended.error();
}

Result<Heard> ask_here(const std::vector<std::string>& words, Duration longest) {
    const auto ended = carry_out({Command{.words = words, .input = {}}}, {.longest = longest});
    return ended ? Result<Heard>{{lines_of(ended->front().out), lines_of(ended->front().err)}}
                 : ended.error();
}

/// With srun the source is on this node if it is one of the nodes, else on the first.
Result<WorkerSeen> look_at_source(const Nodes& nodes,
                                  const PushOptions& options,
                                  const Config& site) {
    const std::vector<std::string> words = look_words(site, options, std::nullopt);
    const std::vector<std::string> names = fit_names(nodes, true);
    const bool is_elsewhere =
        options.launcher == Launcher::srun && own_place(names) == names.size();
    Result<Heard> heard = Error{Blame::node, "no node can be reached"};
    if (!is_elsewhere) {
        heard = ask_here(words, kReadingMax);
    } else if (auto all = ask({names.front()}, words, kReadingMax, options, site); all) {
        heard = all->front();
    } else {
        heard = all.error();
    }
    if (!heard) {
        return heard.error();
    }
    const auto seen = worker_seen(*heard);
    return seen ? Result<WorkerSeen>{*seen}
                : Error{Blame::user, complaint(*heard, "the source can't be looked at")};
}

void judge(LaunchNode& node,
           const Heard& heard,
           const WorkerSeen& source,
           const PushOptions& options) {
    const auto seen = worker_seen(heard);
    const bool is_same = seen && seen->digest == source.digest && seen->bytes == source.bytes;
    if (seen && (is_same || !compares(options))) {
        node.state = compares(options) ? State::done : State::fit;
        return;
    }
    node.differs = seen.has_value();
    node.fail(seen ? "the content there differs from the source"
                   : complaint(heard, "did not answer in time what it has there"));
}

}  // namespace

Result<std::uint64_t> look_at_nodes(Nodes& nodes,
                                    const PushOptions& options,
                                    const Config& site) {
    if (fit_names(nodes, true).empty()) {
        return 0;
    }
    TRY(const auto source, look_at_source(nodes, options, site));
    if (source.manifest.empty()) {  // Too long to pass on: nodes check at the transfer.
        return compares(options)
                   ? Result<std::uint64_t>{Error{
                         Blame::user, options.source + ": has too many attributes to compare"}}
                   : source.bytes;
    }
    const bool by_names = options.launcher == Launcher::srun;
    const std::vector<std::string> words = look_words(site, options, source.manifest);
    const std::vector<std::string> names = fit_names(nodes, by_names);
    const Duration longest = compares(options) ? kReadingMax : 4 * site.connect_timeout;
    TRY(const auto heard, ask(names, words, longest, options, site));
    std::size_t at = 0;
    for (LaunchNode& node : nodes) {
        if (node.state != State::fit) {
            continue;
        }
        if (by_names || !node.is_own) {
            judge(node, (heard)[at++], source, options);
        } else if (const auto own = ask_here(words, longest); own) {
            judge(node, *own, source, options);
        }
    }
    return source.bytes;
}

}  // namespace stage
