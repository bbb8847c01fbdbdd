// Which of a client's words are options of its own, and what do they say?
//
// Slurm parses them for itself and shows a plugin none but the plugin's own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The client's own among its arguments: they end at the first word that is neither an option
/// nor possibly an option's value. What follows is the program's own business.
[[nodiscard]] std::span<const std::string> own_words(const std::vector<std::string>& words);

/// The value of an option among a client's arguments, or nothing.
[[nodiscard]] std::optional<std::string> argument_value(const std::vector<std::string>& words,
                                                        std::string_view long_name,
                                                        std::string_view short_name);

}  // namespace stage
