// How do several programs run at once, each fed and heard, and none for longer than it may?
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>
#include <string>
#include <vector>

namespace stage {

struct Command {
    std::vector<std::string> words;  ///< The program, looked up in PATH, and its arguments.
    std::string input;               ///< Its standard input, whole.
};

/// The code of a program that could not be started; `err` says why.
inline constexpr int kNotStarted = 127;

struct Ended {
    /// Exit code, or 128 and the signal.
    int code = 0;
    bool was_ended = false;  ///< By us: its time was over.
    std::string out;         ///< At most 16 MiB of each; the rest is dropped.
    std::string err;
};

struct CommandLimits {
    Duration longest{};      ///< For all of them.
    Duration after_first{};  ///< For the others once the first has ended; 0: the same.
    std::function<bool()> stops = nullptr;  ///< Asked now and then: true ends them.
};

/// Runs all at once and returns when the last has ended. What must end gets SIGTERM, five
/// seconds later SIGKILL. Fails only where the system gives no pipes or processes.
[[nodiscard]] Result<std::vector<Ended>> run_commands(const std::vector<Command>& commands,
                                                      const CommandLimits& limits);

}  // namespace stage
