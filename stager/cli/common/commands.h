// Runs several programs at once, with input and captured output and with time limits.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>
#include <string>
#include <vector>

namespace stage {

struct Command {
    std::vector<std::string> words;  ///< The program, found in PATH, and its arguments.
    std::string input;               ///< The command's complete standard input.
};

/// The exit code of a program that could not be started; `err` has the reason.
inline constexpr int kNotStarted = 127;

struct Ended {
    /// Exit code, or 128 and the signal.
    int code = 0;
    bool was_ended = false;  ///< Killed at its time limit.
    std::string out;         ///< At most 16 MiB of each; the rest is dropped.
    std::string err;
};

struct CommandLimits {
    Duration longest{};                     ///< For all of them.
    Duration after_first{};                 ///< Since the first one ended; 0: `longest`.
    std::function<bool()> stops = nullptr;  ///< Polled; true ends them.
};

/// Runs all at once and returns when the last has ended. At a limit a program gets SIGTERM,
/// five seconds later SIGKILL. Fails only if no pipe or process can be made.
[[nodiscard]] Result<std::vector<Ended>> run_commands(const std::vector<Command>& commands,
                                                      const CommandLimits& limits);

}  // namespace stage
