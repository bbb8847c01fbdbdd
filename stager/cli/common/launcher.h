// How is a program started on other nodes where no daemon of ours runs?
//
// By what the site has: ssh (one process a node), pdsh or clush (one for all), srun (one step).
// Here are only the command lines, and whose words came back; who runs them is elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// `none`: our daemons do it.
enum class Launcher : unsigned char { none, srun, ssh, pdsh, clush };

[[nodiscard]] std::optional<Launcher> read_launcher(std::string_view name);
[[nodiscard]] std::string_view to_string(Launcher launcher);

/// As one word for a shell, whatever is in it.
[[nodiscard]] std::string shell_word(std::string_view word);

struct Launch {
    std::vector<std::string> nodes;
    std::string command;          ///< For the shell there.
    unsigned connect_s = 5;       ///< How long a node may be silent before it is given up.
    bool is_without_job = false;  ///< srun: on nodes of whatever job (-Z); root only.
};

/// What is to be run here: for ssh a command line for each node in their order, else one.
/// Input goes to every node; not by pdsh, nor by srun.
[[nodiscard]] std::vector<std::vector<std::string>> launch_lines(Launcher launcher,
                                                                 const Launch& launch);

/// A line that came from a node.
struct SaidLine {
    std::size_t node = 0;  ///< An index into the launch's nodes.
    std::string text;
};

/// Of pdsh's and clush's output, "n3: text"; lines that are no node's are left out.
[[nodiscard]] std::vector<SaidLine> lines_by_node(std::string_view output,
                                                  const std::vector<std::string>& nodes);

/// Without its ends of lines; empty ones are left out.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view output);

}  // namespace stage
