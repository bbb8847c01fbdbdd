// Splits the words behind a command into options and operands, as getopt_long(3) does.
//
// "-w n1", "-wn1", "--nodes n1", "--nodes=n1" and "-nw n1" mean the same as they do to srun and
// to clush; options may stand behind operands, "--" ends them, and a long option may be
// shortened where that is unambiguous.
#pragma once

#include "transport/base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct OptionName {
    const char* name;  ///< The long form, without dashes.
    char letter;       ///< The short form; 0: none.
    bool has_value;
};

struct CommandLine {
    struct Option {
        std::string name;   ///< OptionName::name
        std::string value;  ///< Empty without has_value.
    };
    std::vector<Option> options;  ///< In their order.
    std::vector<std::string> operands;
};

/// An error means wrong usage: it names the word, and the most similar known option.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> words,
                                                    std::span<const OptionName> known);

/// Returns the one of `names` for which `word` may be a typo, or "".
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> names);

/// Flushes standard output. Returns false, with a message on standard error, if not all output
/// could be written, for instance to a full disk.
[[nodiscard]] bool finish_output(const char* program);

}  // namespace stage
