// Runs several programs at once, with input and captured output and with time limits.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

struct Command {
    std::vector<std::string> words;  ///< The program, found in PATH, and its arguments.
    std::string input;               ///< The command's standard input, or its beginning.
};

/// The exit code of a program that could not be started; `err` has the reason.
inline constexpr int kNotStarted = 127;

struct Ended {
    bool is_over = false;    ///< The process has ended, and all below is final.
    int code = 0;            ///< Exit code, or 128 and the signal.
    bool was_ended = false;  ///< Killed at its time limit.
    std::string out;         ///< At most 16 MiB of each; the rest is dropped.
    std::string err;
};

/// Sees what the commands have put out so far, and returns the end of every command's input;
/// nothing while that is not known yet.
using LastInput = std::function<std::optional<std::string>(const std::vector<Ended>&)>;

struct CommandLimits {
    Duration longest{};                     ///< For all of them.
    Duration after_first{};                 ///< Since the first one ended; 0: `longest`.
    std::function<bool()> stops = nullptr;  ///< Polled; true ends them.
    /// Polled until it returns; the inputs stay open. If the text is empty, the commands have
    /// only `after_first` left. Null: the inputs end with Command::input.
    LastInput last_input = nullptr;
};

/// Runs all at once and returns when the last has ended. At a limit a program gets SIGTERM,
/// five seconds later SIGKILL. Fails only if no pipe or process can be made.
[[nodiscard]] Result<std::vector<Ended>> run_commands(const std::vector<Command>& commands,
                                                      const CommandLimits& limits);

}  // namespace stage
