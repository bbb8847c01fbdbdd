// Formats messages for Slurm's logs and for users' terminals.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace stage {

/// Replaces control characters, so that no name can forge a line in a log or on a terminal.
[[nodiscard]] inline std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
    return text;
}

[[nodiscard]] inline std::string signed_sentence(const std::string& sentence) {
    constexpr std::string_view kSignature = "stagecast: ";
    return one_line(sentence.starts_with(kSignature) ? sentence
                                                     : std::string{kSignature} + sentence);
}

}  // namespace stage
