#include "stager/cli/common/launcher.h"

#include "transport/base/invariant.h"
#include "transport/base/text.h"

#include <algorithm>
#include <array>
#include <map>

namespace stage {
namespace {

using Line = std::vector<std::string>;

constexpr std::array<std::string_view, 4> kNames{"none", "srun", "ssh", "clush"};

/// No interactive questions, and an unresponsive node is detected.
std::vector<std::string> ssh_options(unsigned connect_s) {
    return {"-oBatchMode=yes",
            "-oConnectTimeout=" + std::to_string(connect_s),
            "-oServerAliveInterval=" + std::to_string(connect_s),
            "-oServerAliveCountMax=3"};
}

std::string ssh_options_in_one(unsigned connect_s) {
    return joined(ssh_options(connect_s), " ");
}

/// For the user's login shell there, which may be csh or fish: within single quotes csh expands
/// ! and fish takes \ for an escape.
std::string by_sh(const std::string& command) {
    std::string word{"'"};
    for (const char one : command) {
        const bool is_special = one == '\'' || one == '\\' || one == '!';
        word += is_special ? std::string{"'\\"} + one + '\'' : std::string{one};
    }
    return "exec /bin/sh -c " + word + '\'';
}

Line ssh_line(const Launch& launch, const std::string& node) {
    Line line{"ssh", "-T"};
    for (std::string& option : ssh_options(launch.connect_s)) {
        line.push_back(std::move(option));
    }
    line.insert(line.end(), {"--", node, by_sh(launch.command)});
    return line;
}

/// All nodes at once, regardless of the launcher's default fan-out: they are one group. clush
/// is a Python program, and would keep the nodes' lines in a buffer. The user's settings must
/// not colour the nodes' names, nor end the command.
Line clush_line(const Launch& launch) {
    return {"env",
            "PYTHONUNBUFFERED=1",
            "clush",
            "--color=never",
            "-O",
            "command_timeout=0",
            "-t",
            std::to_string(launch.connect_s),
            "-f",
            std::to_string(launch.nodes.size()),
            "-o",
            ssh_options_in_one(launch.connect_s),
            "-w",
            joined(launch.nodes, ","),
            by_sh(launch.command)};
}

/// The step's tasks print their node before they execute the command. With the user's
/// SLURM_UNBUFFEREDIO srun would cut their lines anywhere.
Line srun_line(const Launch& launch) {
    const std::string count = std::to_string(launch.nodes.size());
    Line line{"env",
              "-u",
              "SLURM_UNBUFFEREDIO",
              "srun",
              "--mpi=none",
              "--label",
              "--input=all",
              "--kill-on-bad-exit=0",
              "--nodes=" + count,
              "--ntasks=" + count,
              "--ntasks-per-node=1",
              "--nodelist=" + joined(launch.nodes, ",")};
    if (launch.is_without_job) {
        line.emplace_back("--no-allocate");
    }
    line.insert(line.end(), {"sh", "-c", launch.command});
    return line;
}

}  // namespace

std::optional<Launcher> read_launcher(std::string_view name) {
    const auto found = std::find(kNames.begin() + 1, kNames.end(), name);
    return found == kNames.end() ? std::nullopt
                                 : std::optional{static_cast<Launcher>(found - kNames.begin())};
}

std::string_view to_string(Launcher launcher) {
    return kNames.at(static_cast<std::size_t>(launcher));
}

std::string shell_word(std::string_view word) {
    std::string text{"'"};
    for (const char one : word) {
        text += one == '\'' ? std::string{"'\\''"} : std::string{one};
    }
    return text + "'";
}

std::vector<std::vector<std::string>> launch_lines(Launcher launcher, const Launch& launch) {
    switch (launcher) {
        case Launcher::ssh: {
            std::vector<Line> lines;
            for (const std::string& node : launch.nodes) {
                lines.push_back(ssh_line(launch, node));
            }
            return lines;
        }
        case Launcher::clush:
            return {clush_line(launch)};
        case Launcher::srun:
            return {srun_line(launch)};
        case Launcher::none:
            break;
    }
    invariant(false, "our daemons need no command line");
    return {};
}

std::vector<std::string> lines_of(std::string_view output) {
    std::vector<std::string> lines;
    while (!output.empty()) {
        const std::size_t end = std::min(output.find('\n'), output.size());
        if (end > 0) {
            lines.emplace_back(output.substr(0, end));
        }
        output.remove_prefix(std::min(end + 1, output.size()));
    }
    return lines;
}

std::vector<SaidLine> lines_by_node(std::string_view output,
                                    const std::vector<std::string>& nodes) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        places.emplace(nodes[i], i);
    }
    std::vector<SaidLine> said;
    for (const std::string& line : lines_of(output)) {
        const std::size_t colon = line.find(": ");
        const auto place = places.find(std::string_view{line}.substr(0, colon));
        if (colon != std::string::npos && place != places.end()) {
            said.push_back({place->second, line.substr(colon + 2)});
        }
    }
    return said;
}

}  // namespace stage
