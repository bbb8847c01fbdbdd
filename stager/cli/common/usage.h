// The usage texts that `stagecast --help` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stage {

[[nodiscard]] std::string usage();
/// The text of one command, "push"; empty if there is none of that name.
[[nodiscard]] std::string usage_of(std::string_view command);

/// Whether --help or -h stands before a "--".
[[nodiscard]] bool asks_for_help(std::span<char* const> words);

}  // namespace stage
