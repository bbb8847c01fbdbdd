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
    const char* name;  ///< Of the long form, without its dashes.
    char letter;       ///< Of the short form; 0: there is none.
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

/// An error is wrong use: it names the word, and the known option that is most like it.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> words,
                                                    std::span<const OptionName> known);

/// The one of `names` that `word` may be a slip of, "" if it is like none of them.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> names);

/// Writes what is buffered for standard output. False, and a sentence on standard error, if it
/// can't take all that was printed: a full disk behind a redirection, say.
[[nodiscard]] bool finish_output(const char* program);

}  // namespace stage
