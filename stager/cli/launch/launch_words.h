// Makes the commands for nodes that a launcher reaches, and parses their output.
#pragma once

#include "stager/cli/common/commands.h"
#include "stager/cli/common/launcher.h"
#include "stager/cli/push/push_options.h"
#include "stager/config/config.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Multiple of ConnectTimeout: from the first member's card to the last one's.
inline constexpr int kCardsWithin = 3;

/// The script for a node's shell. It prints "stagecast-worker VERSION" and exits with 0 if the
/// worker exists and may write at the destination (which a comparison does not need); else it
/// prints an error to stderr.
[[nodiscard]] std::string probe_words(const Config& site, const PushOptions& options);

/// The worker's command line that only examines: the source, or the destination against
/// `manifest`.
[[nodiscard]] std::vector<std::string> look_words(const Config& site,
                                                  const PushOptions& options,
                                                  const std::optional<std::string>& manifest);

/// The worker's command line without the group, the source and the destination.
[[nodiscard]] std::vector<std::string> worker_words(const Config& site,
                                                    const PushOptions& options);

/// Joins quoted words into one line for a shell.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// Makes srun's tasks print their node before they run `command`.
[[nodiscard]] std::string saying_node(const std::string& command);

/// Adds the nodes of srun's tasks to `known`, as far as the tasks have printed them. A task's
/// first word counts, and the first task that claims a node.
[[nodiscard]] std::map<std::size_t, std::string> nodes_of_tasks(
    const std::string& output, std::map<std::size_t, std::string> known = {});
/// Splits srun's output, "3: text"; lines of no task of these nodes are left out. The pieces of
/// a long line are joined.
[[nodiscard]] std::vector<SaidLine> lines_by_task(
    const std::string& text,
    const std::map<std::size_t, std::string>& tasks,
    const std::vector<std::string>& nodes);
/// The beginning of srun's output so far that lines_by_task() may be given: behind it some
/// task's line is not whole yet.
[[nodiscard]] std::string_view whole_srun_lines(std::string_view text);

/// The output of one node.
struct Heard {
    std::vector<std::string> out;
    std::vector<std::string> err;
};

/// The output of launch_lines() by node, in the order of `nodes`.
[[nodiscard]] std::vector<Heard> heard_by_node(Launcher launcher,
                                               const std::vector<Ended>& ended,
                                               const std::vector<std::string>& nodes);

/// Why a node has neither started the worker nor said why not. `ended`: the launcher's process,
/// with ssh that of the node; `longest`: the time that it had.
[[nodiscard]] std::string why_silent(Launcher launcher, const Ended& ended, Duration longest);

/// The relevant part of a worker's JSON line.
struct WorkerDid {
    std::uint64_t bytes = 0;
    bool has_it = false;
    std::optional<std::size_t> culprit;  ///< A rank, if it failed.
    std::string why;
};
[[nodiscard]] std::optional<WorkerDid> worker_did(const Heard& heard);

/// The result of a worker that only examined.
struct WorkerSeen {
    std::uint64_t bytes = 0;
    std::string digest;
    std::string manifest;
};
[[nodiscard]] std::optional<WorkerSeen> worker_seen(const Heard& heard);

/// The index of this host in `names`; their number if it is none of them.
[[nodiscard]] std::size_t own_place(const std::vector<std::string>& names);

/// The last line on stderr without the program's name; `otherwise` if there is none.
[[nodiscard]] std::string complaint(const Heard& heard, const std::string& otherwise);

}  // namespace stage
