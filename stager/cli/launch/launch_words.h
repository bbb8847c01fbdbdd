// What is a node told that a launcher reaches, and what does it say?
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

/// For the shell of a node: "stagecast-worker VERSION" and exit code 0 if the worker is there
/// and may write where the destination is to be, unless it is only compared; else a sentence on
/// stderr.
[[nodiscard]] std::string probe_words(const Config& site, const PushOptions& options);

/// The worker's command line to look, alone: at the source, or at the destination for what that
/// was said to be.
[[nodiscard]] std::vector<std::string> look_words(const Config& site,
                                                  const PushOptions& options,
                                                  const std::optional<std::string>& manifest);

/// The worker's command line but for its part: which group, source, destination.
[[nodiscard]] std::vector<std::string> worker_words(const Config& site,
                                                    const PushOptions& options);

/// As one line for a shell.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// srun's tasks say first which node they are on; behind it comes `command`.
[[nodiscard]] std::string saying_node(const std::string& command);

/// What one node said.
struct Heard {
    std::vector<std::string> out;
    std::vector<std::string> err;
};

/// What came back of launch_lines() by node, in the order of `nodes`.
[[nodiscard]] std::vector<Heard> heard_by_node(Launcher launcher,
                                               const std::vector<Ended>& ended,
                                               const std::vector<std::string>& nodes);

/// The nodes as srun ranks them: the order of its tasks. Nodes that said nothing are left out.
[[nodiscard]] std::vector<std::string> nodes_by_task(const std::string& output);

/// A worker's line of JSON, of what counts here.
struct WorkerDid {
    std::uint64_t bytes = 0;
    bool has_it = false;
    std::optional<std::size_t> culprit;  ///< A rank, if it failed.
    std::string why;
};
[[nodiscard]] std::optional<WorkerDid> worker_did(const Heard& heard);

/// What a worker that looked has seen.
struct WorkerSeen {
    std::uint64_t bytes = 0;
    std::string digest;
    std::string manifest;
};
[[nodiscard]] std::optional<WorkerSeen> worker_seen(const Heard& heard);

/// Where in `names` this host is; their number if it is none of them.
[[nodiscard]] std::size_t own_place(const std::vector<std::string>& names);

/// The last of its complaints without the program's name; `otherwise` if it made none.
[[nodiscard]] std::string complaint(const Heard& heard, const std::string& otherwise);

}  // namespace stage
