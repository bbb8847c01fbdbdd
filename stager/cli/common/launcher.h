// Makes the command lines that start a program on other nodes without daemons, and splits their
// output by node.
//
// The launchers are ssh (one process per node), clush (one for all) and srun (one step). All
// of them pass input to the nodes: pdsh does not. Other code runs the command lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// `none`: the daemons do it.
enum class Launcher : unsigned char { none, srun, ssh, clush };

[[nodiscard]] std::optional<Launcher> read_launcher(std::string_view name);
[[nodiscard]] std::string_view to_string(Launcher launcher);

/// Quotes a word for a shell.
[[nodiscard]] std::string shell_word(std::string_view word);

struct Launch {
    std::vector<std::string> nodes;
    std::string command;          ///< For the node's shell.
    unsigned connect_s = 5;       ///< Time limit for connecting to a node.
    bool is_without_job = false;  ///< srun -Z: on nodes of any job; root only.
};

/// Returns the command lines to run: for ssh one per node in their order, else one. Every node
/// gets the input.
[[nodiscard]] std::vector<std::vector<std::string>> launch_lines(Launcher launcher,
                                                                 const Launch& launch);

/// A line of a node's output.
struct SaidLine {
    std::size_t node = 0;  ///< An index into the launch's nodes.
    std::string text;
};

/// Splits clush's output, "n3: text"; lines of no node are left out.
[[nodiscard]] std::vector<SaidLine> lines_by_node(std::string_view output,
                                                  const std::vector<std::string>& nodes);

/// Splits output into lines; empty ones are left out.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view output);

}  // namespace stage
